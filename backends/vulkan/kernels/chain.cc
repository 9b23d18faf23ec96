#include "backends/vulkan/kernels/chain.h"

#include <algorithm>

#include "backends/vulkan/kernels/places.h"
#include "backends/vulkan/kernels/typed.h"
#include "kernels/portable/broadcast.h"
#include "kernels/portable/layout_arguments.h"

namespace berth::vulkan {
namespace {

constexpr int kConstant = 100;
constexpr int kStep = 200;

using Places = PlacesOf<elementwise::kMaxInputs + 1>;

// Whether it is among the steps of elementwise.comp's SIMPLE.
bool is_simple(elementwise::Op op) {
  using Op = elementwise::Op;
  switch (op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
    case Op::kMin:
    case Op::kMax:
    case Op::kNeg:
    case Op::kAbs:
    case Op::kRelu:
    case Op::kClamp:
    case Op::kMulAdd: return true;
    default: return false;
  }
}

bool is_function(elementwise::Op op) { return static_cast<int>(op) >= static_cast<int>(Function::kAcos); }

// Each for as many steps at most.
Launch of_floats(KernelContext& context, size_t steps, bool simple) {
  if (simple && steps <= 4) return {context, ShaderId::elementwise_simple, ShaderId::elementwise_simple_texels};
  if (steps <= 4) return {context, ShaderId::elementwise_4, ShaderId::elementwise_4_texels};
  if (steps <= 8) return {context, ShaderId::elementwise_8, ShaderId::elementwise_8_texels};
  return {context, ShaderId::elementwise_32, ShaderId::elementwise_32_texels};
}
Launch of_any_type(KernelContext& context, size_t steps) {
  if (steps <= 4) return Launch::of_any_type(context, ShaderId::elementwise_4_words, ShaderId::elementwise_4_typed);
  if (steps <= 8) return Launch::of_any_type(context, ShaderId::elementwise_8_words, ShaderId::elementwise_8_typed);
  return Launch::of_any_type(context, ShaderId::elementwise_32_words, ShaderId::elementwise_32_typed);
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
  BERTH_RETURN_IF_ERROR(require_floats(context_, inputs_));
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
  const size_t tensors = inputs_.size() + 1;
  const Places places = Places::of(out, inputs_);
  const size_t steps = steps_.size();
  const bool simple = std::all_of(steps_.begin(), steps_.end(), [](const Number& step) { return is_simple(step.op); });
  const bool functions =
      std::any_of(steps_.begin(), steps_.end(), [](const Number& step) { return is_function(step.op); });
  Launch ask = functions ? Launch(context_, ShaderId::elementwise_functions, ShaderId::elementwise_functions_texels)
               : all_floats(all) ? of_floats(context_, steps, simple)
                                 : of_any_type(context_, steps);
  ask.constant(static_cast<int64_t>(inputs_.size())).constant(static_cast<int64_t>(constants_.size()));
  ask.constant(static_cast<int64_t>(steps_.size())).constant(places.is_flat(tensors) ? 0 : places.rank);
  for (const Number& step : steps_) {
    ask.constant(static_cast<int64_t>(step.op) | resolve(step.a) << 8 | resolve(step.b) << 16 | resolve(step.c) << 24);
  }
  ask.writes(out);
  for (size_t k = 0; k < elementwise::kMaxInputs; ++k) ask.reads(k < inputs_.size() ? inputs_[k] : nullptr);
  ask.number(first_).number(0);
  for (double value : constants_) ask.real(value);
  return places.run(ask, tensors, out.numel());
}

Error require_floats(KernelContext& context, Span<const Tensor* const> tensors) {
  for (const Tensor* tensor : tensors) {
    const DType dtype = tensor == nullptr ? DType::kF32 : tensor->dtype();
    if (dtype == DType::kF32 || has_16_bits(dtype)) continue;
    return context.fail(Error::kNotSupported, "kernels of vulkan devices take and give f32, f16 and bf16");
  }
  return Error::kOk;
}

}  // namespace berth::vulkan
