// Comparisons, logic, choices and bits: operators on elements of any type.
#include "backends/vulkan/kernels/kernels.h"
#include "backends/vulkan/kernels/typed.h"
#include "kernels/portable/elementwise_arguments.h"

namespace berth::vulkan {

#define TENSORS(identifier, op) \
  Error identifier(KernelContext& context, const arguments::identifier& args) { \
    return Typed(context, TypedOp::op).tensor(args.self).tensor(args.other).run(args.out); \
  }
TENSORS(eq_Tensor_out, kEqual)
TENSORS(ne_Tensor_out, kNotEqual)
TENSORS(lt_Tensor_out, kLess)
TENSORS(le_Tensor_out, kLessEqual)
TENSORS(gt_Tensor_out, kGreater)
TENSORS(ge_Tensor_out, kGreaterEqual)
TENSORS(logical_and_out, kAnd)
TENSORS(logical_or_out, kOr)
TENSORS(logical_xor_out, kXor)
TENSORS(bitwise_and_Tensor_out, kBitAnd)
TENSORS(bitwise_or_Tensor_out, kBitOr)
TENSORS(bitwise_xor_Tensor_out, kBitXor)
TENSORS(bitwise_left_shift_Tensor_out, kShiftLeft)
TENSORS(bitwise_right_shift_Tensor_out, kShiftRight)
#undef TENSORS

#define SCALAR(identifier, op) \
  Error identifier(KernelContext& context, const arguments::identifier& args) { \
    return Typed(context, TypedOp::op).tensor(args.self).scalar(args.other, args.self.dtype()).run(args.out); \
  }
SCALAR(eq_Scalar_out, kEqual)
SCALAR(ne_Scalar_out, kNotEqual)
SCALAR(lt_Scalar_out, kLess)
SCALAR(le_Scalar_out, kLessEqual)
SCALAR(gt_Scalar_out, kGreater)
SCALAR(ge_Scalar_out, kGreaterEqual)
SCALAR(bitwise_and_Scalar_out, kBitAnd)
SCALAR(bitwise_or_Scalar_out, kBitOr)
SCALAR(bitwise_xor_Scalar_out, kBitXor)
SCALAR(bitwise_left_shift_Tensor_Scalar_out, kShiftLeft)
SCALAR(bitwise_right_shift_Tensor_Scalar_out, kShiftRight)
#undef SCALAR

Error isinf_out(KernelContext& context, const arguments::isinf_out& args) {
  return Typed(context, TypedOp::kIsInf).tensor(args.self).run(args.out);
}
Error isnan_out(KernelContext& context, const arguments::isnan_out& args) {
  return Typed(context, TypedOp::kIsNan).tensor(args.self).run(args.out);
}

Error logical_not_out(KernelContext& context, const arguments::logical_not_out& args) {
  return Typed(context, TypedOp::kNot).tensor(args.self).run(args.out);
}
Error bitwise_not_out(KernelContext& context, const arguments::bitwise_not_out& args) {
  return Typed(context, TypedOp::kBitNot).tensor(args.self).run(args.out);
}

Error where_self_out(KernelContext& context, const arguments::where_self_out& args) {
  BERTH_RETURN_IF_ERROR(portable::check_condition(context, args.condition));
  return Typed(context, TypedOp::kWhere).tensor(args.condition).tensor(args.self).tensor(args.other).run(args.out);
}

Error masked_fill_Scalar_out(KernelContext& context, const arguments::masked_fill_Scalar_out& args) {
  BERTH_RETURN_IF_ERROR(portable::check_condition(context, args.mask));
  Typed typed(context, TypedOp::kWhere);
  return typed.tensor(args.mask).element(args.value, args.self.dtype()).tensor(args.self).run(args.out);
}

}  // namespace berth::vulkan
