// Method: what arenas need at the inputs' sizes.

#include <cstdio>

#include "format/tensor_facts.h"
#include "runtime/method.h"
#include "runtime/method_data.h"

namespace berth {
namespace {

using internal::InputSizes;
using internal::MethodData;

Error fail_input(MethodData& data, size_t index, const char* message) {
  char place[96];
  std::snprintf(place, sizeof place, "methods[%.40s].inputs[%zu]", format::text(data.plan->name()), index);
  return format::fail(&data.report, Error::kInvalidArgument, place, "%s", message);
}

// Whether set_input() would take them, apart from what inputs have in common; -1 stands for a size that is not known.
Error check_sizes(MethodData& data, size_t index, Span<const int32_t> sizes) {
  const Tensor* tensor = data.inputs[index].tensor;
  if (tensor == nullptr) return Error::kOk;
  if (sizes.size() != tensor->sizes().size()) {
    return fail_input(data, index, "the tensor has another number of dimensions");
  }
  const fb::Tensor& in_file = *format::tensor_at(*data.plan, data.inputs[index].value);
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int32_t fixed = in_file.sizes()->Get(static_cast<uint32_t>(d));
    const bool wrong = tensor->dynamism() == ShapeDynamism::kStatic && sizes[d] != fixed && sizes[d] != -1;
    if (sizes[d] < -1 || wrong) return fail_input(data, index, "the input has no such sizes");
  }
  return internal::check_symbol_ranges(data, index, sizes, true);
}

}  // namespace

bool Method::follows_sizes() const { return data_->counts.stacks > 0; }

Error Method::planned_bytes(Span<const Span<const int32_t>> sizes, Span<uint64_t> bytes) {
  data_->report = format::Report();
  const MethodMeta about = meta();
  if (sizes.size() != inputs_size() || bytes.size() != about.num_memory_planned_buffers()) {
    return format::fail(&data_->report, Error::kInvalidArgument, "inputs",
                        "sizes of %zu inputs and room for %zu arenas are expected", inputs_size(),
                        about.num_memory_planned_buffers());
  }
  for (size_t i = 0; i < sizes.size(); ++i) BERTH_RETURN_IF_ERROR(check_sizes(*data_, i, sizes[i]));
  for (size_t k = 0; k < bytes.size(); ++k) {
    BERTH_ASSIGN_OR_RETURN(bytes[k], about.memory_planned_buffer_size(k));
  }
  const InputSizes given(*data_, sizes);
  BERTH_RETURN_IF_ERROR(internal::check_symbol_relations(*data_, given));
  if (!follows_sizes()) return Error::kOk;
  BERTH_RETURN_IF_ERROR(internal::measure(*data_, given));
  for (size_t k = 0; k < data_->counts.stacks; ++k) bytes[data_->stacks[k].index()] = data_->stacks[k].asked;
  return Error::kOk;
}

Result<uint64_t> Method::planned_bytes(size_t index) {
  const internal::StackedArena* arena = internal::find_stack(*data_, index);
  if (arena == nullptr) return meta().memory_planned_buffer_size(index);
  return arena->needed;
}

Error Method::lay_out() {
  data_->report = format::Report();
  return internal::lay_out(*data_, SIZE_MAX);
}

}  // namespace berth
