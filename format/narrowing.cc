#include "format/narrowing.h"

#include <cstring>

#include "format/tensor_facts.h"

namespace berth::format {
namespace {

namespace elementwise {
enum : uint32_t { inputs, code, constants, out, count = out + 2 };
}

// Null where the program does more than this one call.
const fb::KernelCall* only_call(const fb::ExecutionPlan& plan) {
  if (length(plan.chains()) != 1) return nullptr;
  const auto* instructions = plan.chains()->Get(0)->instructions();
  return length(instructions) == 1 ? instructions->Get(0)->instr_args_as_KernelCall() : nullptr;
}

bool is_elementwise(const fb::ExecutionPlan& plan, const fb::KernelCall& call) {
  if (call.op_index() < 0 || static_cast<uint32_t>(call.op_index()) >= length(plan.operators())) return false;
  const fb::Operator& op = *plan.operators()->Get(static_cast<uint32_t>(call.op_index()));
  return std::strcmp(text(op.name()), "berth::elementwise") == 0 && length(call.args()) == elementwise::count;
}

bool narrows(const fb::Tensor& from, const fb::Tensor& to) {
  if (from.shape_dynamism() != fb::TensorShapeDynamism::STATIC ||
      to.shape_dynamism() != fb::TensorShapeDynamism::STATIC || length(from.sizes()) != length(to.sizes())) {
    return false;
  }
  for (uint32_t d = 0; d < length(from.sizes()); ++d) {
    if (from.sizes()->Get(d) != to.sizes()->Get(d) || from.dim_order()->Get(d) != to.dim_order()->Get(d)) return false;
  }
  return element_size(static_cast<DType>(to.scalar_type())) < element_size(static_cast<DType>(from.scalar_type()));
}

}  // namespace

bool narrows_in_place(const ProgramView& nested) {
  const fb::ExecutionPlan& plan = nested.method(0);
  if (length(plan.inputs()) != 1 || length(plan.outputs()) != 1) return false;
  const int32_t input = plan.inputs()->Get(0);
  const int32_t output = plan.outputs()->Get(0);
  const fb::KernelCall* call = only_call(plan);
  if (call == nullptr || !is_elementwise(plan, *call) || call->args()->Get(elementwise::out) != output) return false;
  const fb::EValue* list = plan.values()->Get(static_cast<uint32_t>(call->args()->Get(elementwise::inputs)));
  const fb::TensorList* inputs = list->val_as_TensorList();
  if (inputs == nullptr || length(inputs->items()) != 1 || inputs->items()->Get(0) != input) return false;
  const fb::Tensor& from = *tensor_at(plan, input);
  const fb::Tensor& to = *tensor_at(plan, output);
  return storage_of(to) == Storage::kNone && narrows(from, to);
}

}  // namespace berth::format
