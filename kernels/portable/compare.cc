// Comparisons and logical operators: the result is bool.
#include "kernels/portable/loops.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/promotion.h"

namespace berth::portable {
namespace {

#define BERTH_COMPARE_FUNCTOR(Functor, expression) \
  template <typename T> \
  struct Functor : NoScalars { \
    using NoScalars::NoScalars; \
    BERTH_INLINE Bool operator()(T x, T y) const { return expression; } \
  };

BERTH_COMPARE_FUNCTOR(Equal, Bool(x == y))
BERTH_COMPARE_FUNCTOR(NotEqual, Bool(x != y))
BERTH_COMPARE_FUNCTOR(Greater, Bool(x > y))
BERTH_COMPARE_FUNCTOR(GreaterEqual, Bool(x >= y))
BERTH_COMPARE_FUNCTOR(Less, Bool(x < y))
BERTH_COMPARE_FUNCTOR(LessEqual, Bool(x <= y))
// NaN is true.
BERTH_COMPARE_FUNCTOR(And, Bool((x != 0) & (y != 0)))
BERTH_COMPARE_FUNCTOR(Or, Bool((x != 0) | (y != 0)))
BERTH_COMPARE_FUNCTOR(Xor, Bool((x != 0) != (y != 0)))

#undef BERTH_COMPARE_FUNCTOR

template <template <typename> class F, typename Args>
Error run_tensors(KernelContext& context, const Args& args) {
  return run_compare(context, args.self, args.other, args.out, compare_loops<F>());
}
template <template <typename> class F, typename Args>
Error run_scalar(KernelContext& context, const Args& args) {
  return run_compare_scalar(context, args.self, args.other, args.out, compare_loops<F>());
}

}  // namespace

Error eq_Scalar_out(KernelContext& context, const arguments::eq_Scalar_out& args) {
  return run_scalar<Equal>(context, args);
}
Error eq_Tensor_out(KernelContext& context, const arguments::eq_Tensor_out& args) {
  return run_tensors<Equal>(context, args);
}
Error ne_Scalar_out(KernelContext& context, const arguments::ne_Scalar_out& args) {
  return run_scalar<NotEqual>(context, args);
}
Error ne_Tensor_out(KernelContext& context, const arguments::ne_Tensor_out& args) {
  return run_tensors<NotEqual>(context, args);
}
Error gt_Scalar_out(KernelContext& context, const arguments::gt_Scalar_out& args) {
  return run_scalar<Greater>(context, args);
}
Error gt_Tensor_out(KernelContext& context, const arguments::gt_Tensor_out& args) {
  return run_tensors<Greater>(context, args);
}
Error ge_Scalar_out(KernelContext& context, const arguments::ge_Scalar_out& args) {
  return run_scalar<GreaterEqual>(context, args);
}
Error ge_Tensor_out(KernelContext& context, const arguments::ge_Tensor_out& args) {
  return run_tensors<GreaterEqual>(context, args);
}
Error lt_Scalar_out(KernelContext& context, const arguments::lt_Scalar_out& args) {
  return run_scalar<Less>(context, args);
}
Error lt_Tensor_out(KernelContext& context, const arguments::lt_Tensor_out& args) {
  return run_tensors<Less>(context, args);
}
Error le_Scalar_out(KernelContext& context, const arguments::le_Scalar_out& args) {
  return run_scalar<LessEqual>(context, args);
}
Error le_Tensor_out(KernelContext& context, const arguments::le_Tensor_out& args) {
  return run_tensors<LessEqual>(context, args);
}

Error logical_and_out(KernelContext& context, const arguments::logical_and_out& args) {
  return run_tensors<And>(context, args);
}
Error logical_or_out(KernelContext& context, const arguments::logical_or_out& args) {
  return run_tensors<Or>(context, args);
}
Error logical_xor_out(KernelContext& context, const arguments::logical_xor_out& args) {
  return run_tensors<Xor>(context, args);
}

}  // namespace berth::portable
