#include "backends/vulkan/kernels/chain.h"

#include <algorithm>

#include "kernels/portable/broadcast.h"
#include "kernels/portable/layout_arguments.h"

namespace berth::vulkan {
namespace {

constexpr int kConstant = 100;
constexpr int kStep = 200;

constexpr size_t kTensors = elementwise::kMaxInputs + 1;

// A walk over more tensors than portable::Walk has. Strides are those of the result, then of each input.
struct Places {
  int rank = 0;
  int64_t sizes[kMaxRank];
  int64_t strides[kTensors][kMaxRank];

  // Puts a dimension inside those there are, merged with the one before where that is possible.
  void add(int64_t size, size_t tensors, const int64_t* of) {
    if (size == 1) return;
    bool merges = rank > 0;
    for (size_t k = 0; merges && k < tensors; ++k) merges = strides[k][rank - 1] == of[k] * size;
    if (!merges) sizes[rank++] = 1;
    sizes[rank - 1] *= size;
    for (size_t k = 0; k < tensors; ++k) strides[k][rank - 1] = of[k];
  }
  // Whether element i of each tensor is the i-th of the walk.
  bool is_flat(size_t tensors) const {
    if (rank == 0) return true;
    for (size_t k = 0; k < tensors; ++k) {
      if (rank != 1 || strides[k][0] != 1) return false;
    }
    return true;
  }
};

int64_t stretched(const Tensor& tensor, int rank, int dim) {
  const int own = dim - (rank - tensor.rank());
  return own < 0 || tensor.size(own) == 1 ? 0 : tensor.stride(own);
}

Error launch(Launch& launch, const Places& places, size_t tensors, int64_t count) {
  const int rank = places.is_flat(tensors) ? 0 : places.rank;
  for (int d = 0; d < rank; ++d) launch.number(places.sizes[d]);
  for (size_t k = 0; k < tensors; ++k) {
    for (int d = 0; d < rank; ++d) launch.number(places.strides[k][d]);
  }
  return launch.run(count);
}

}  // namespace

int Chain::input(const Tensor& tensor) {
  const auto found = std::find(inputs_.begin(), inputs_.end(), &tensor);
  if (found != inputs_.end()) return static_cast<int>(found - inputs_.begin());
  inputs_.push_back(&tensor);
  return static_cast<int>(inputs_.size()) - 1;
}

int Chain::constant(double value) {
  constants_.push_back(value);
  return kConstant + static_cast<int>(constants_.size()) - 1;
}

int Chain::step(elementwise::Op op, int a, int b, int c) {
  steps_.push_back({op, a, b, c});
  return kStep + static_cast<int>(steps_.size()) - 1;
}

int64_t Chain::resolve(int operand) const {
  if (operand < 0) return 0;
  if (operand < kConstant) return operand;
  const auto inputs = static_cast<int64_t>(inputs_.size());
  if (operand < kStep) return inputs + operand - kConstant;
  return inputs + static_cast<int64_t>(constants_.size()) + operand - kStep;
}

Error Chain::run(Tensor& out) {
  portable::Sizes sizes;
  for (const Tensor* tensor : inputs_) {
    if (!portable::broadcast_sizes(tensor->sizes(), &sizes)) {
      return context_.fail(Error::kInvalidArgument, "the sizes of the tensors do not go together");
    }
  }
  BERTH_RETURN_IF_ERROR(portable::resize_out(context_, out, sizes.span()));
  return run_sized(out);
}

Error Chain::run_sized(const Tensor& out) {
  std::vector<const Tensor*> all = inputs_;
  all.push_back(&out);
  BERTH_RETURN_IF_ERROR(require_floats(context_, all));
  const size_t tensors = inputs_.size() + 1;
  Places places;
  for (const uint8_t d : out.dim_order()) {
    int64_t strides[kTensors] = {out.stride(d)};
    for (size_t k = 0; k < inputs_.size(); ++k) strides[k + 1] = stretched(*inputs_[k], out.rank(), d);
    places.add(out.size(d), tensors, strides);
  }
  const bool few = steps_.size() <= 4;
  Launch ask(context_, few ? ShaderId::elementwise_4 : ShaderId::elementwise_32,
             few ? ShaderId::elementwise_4_texels : ShaderId::elementwise_32_texels);
  ask.constant(static_cast<int64_t>(inputs_.size())).constant(static_cast<int64_t>(constants_.size()));
  ask.constant(static_cast<int64_t>(steps_.size())).constant(places.is_flat(tensors) ? 0 : places.rank);
  for (const Number& step : steps_) {
    ask.constant(static_cast<int64_t>(step.op) | resolve(step.a) << 8 | resolve(step.b) << 16 | resolve(step.c) << 24);
  }
  ask.writes(out);
  for (size_t k = 0; k < elementwise::kMaxInputs; ++k) ask.reads(k < inputs_.size() ? inputs_[k] : nullptr);
  ask.number(0).number(0);
  for (double value : constants_) ask.real(value);
  return launch(ask, places, tensors, out.numel());
}

Error copy_box(KernelContext& context, Span<const int32_t> sizes, const Tensor& from, int64_t from_offset,
               Span<const int64_t> from_strides, const Tensor& to, int64_t to_offset, Span<const int64_t> to_strides) {
  const Tensor* const both[] = {&from, &to};
  BERTH_RETURN_IF_ERROR(require_floats(context, both));
  // In the order of the target's memory.
  std::vector<size_t> order(sizes.size());
  for (size_t d = 0; d < order.size(); ++d) order[d] = d;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return to_strides[a] > to_strides[b]; });
  int64_t count = 1;
  Places places;
  Range read = {from_offset, from_offset + 1};
  Range written = {to_offset, to_offset + 1};
  for (const size_t d : order) {
    const int64_t strides[] = {to_strides[d], from_strides[d]};
    count *= sizes[d];
    places.add(sizes[d], 2, strides);
    read.extend(sizes[d], from_strides[d]);
    written.extend(sizes[d], to_strides[d]);
  }
  if (count == 0) return Error::kOk;
  Launch ask(context, ShaderId::elementwise_4, ShaderId::elementwise_4_texels);
  ask.constant(1).constant(0).constant(0).constant(places.is_flat(2) ? 0 : places.rank);
  ask.writes(to, written).reads(from, read);
  for (size_t k = 1; k < elementwise::kMaxInputs; ++k) ask.none();
  ask.number(from_offset - read.begin).number(to_offset - written.begin);
  return launch(ask, places, 2, count);
}

Error require_floats(KernelContext& context, Span<const Tensor* const> tensors) {
  for (const Tensor* tensor : tensors) {
    const DType dtype = tensor == nullptr ? DType::kF32 : tensor->dtype();
    if (dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16) continue;
    return context.fail(Error::kNotSupported, "kernels of vulkan devices take and give f32, f16 and bf16");
  }
  return Error::kOk;
}

}  // namespace berth::vulkan
