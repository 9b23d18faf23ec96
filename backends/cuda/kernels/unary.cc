// Element-wise operators on one tensor.
#include "backends/cuda/kernels/elementwise.h"
#include "backends/cuda/kernels/kernels.h"
#include "kernels/portable/elementwise_arguments.h"

namespace berth::cuda {
namespace {

Error run_clamp(KernelContext& context, const Tensor& self, const EValue& low, const EValue& high, Tensor& out) {
  const DType common = portable::promote_limits(self.dtype(), low, high);
  return run_as(context, self, out, common, Op::kClamp, portable::read_limits(low, high));
}

}  // namespace

#define UNARY(identifier, way, op) \
  Error identifier(KernelContext& context, Span<EValue* const> args) { return way(context, args, op); }
UNARY(acos_out, run_unary_floating, Op::kAcos)
UNARY(acosh_out, run_unary_floating, Op::kAcosh)
UNARY(asin_out, run_unary_floating, Op::kAsin)
UNARY(asinh_out, run_unary_floating, Op::kAsinh)
UNARY(atan_out, run_unary_floating, Op::kAtan)
UNARY(atanh_out, run_unary_floating, Op::kAtanh)
UNARY(cos_out, run_unary_floating, Op::kCos)
UNARY(cosh_out, run_unary_floating, Op::kCosh)
UNARY(erf_out, run_unary_floating, Op::kErf)
UNARY(exp_out, run_unary_floating, Op::kExp)
UNARY(expm1_out, run_unary_floating, Op::kExpm1)
UNARY(log_out, run_unary_floating, Op::kLog)
UNARY(log10_out, run_unary_floating, Op::kLog10)
UNARY(log1p_out, run_unary_floating, Op::kLog1p)
UNARY(log2_out, run_unary_floating, Op::kLog2)
UNARY(reciprocal_out, run_unary_floating, Op::kReciprocal)
UNARY(rsqrt_out, run_unary_floating, Op::kRsqrt)
UNARY(sigmoid_out, run_unary_floating, Op::kSigmoid)
UNARY(sin_out, run_unary_floating, Op::kSin)
UNARY(sinh_out, run_unary_floating, Op::kSinh)
UNARY(sqrt_out, run_unary_floating, Op::kSqrt)
UNARY(tan_out, run_unary_floating, Op::kTan)
UNARY(tanh_out, run_unary_floating, Op::kTanh)
UNARY(abs_out, run_unary_number, Op::kAbs)
UNARY(ceil_out, run_unary_number, Op::kCeil)
UNARY(floor_out, run_unary_number, Op::kFloor)
UNARY(neg_out, run_unary_number, Op::kNeg)
UNARY(relu_out, run_unary_number, Op::kRelu)
UNARY(round_out, run_unary_number, Op::kRound)
UNARY(trunc_out, run_unary_number, Op::kTrunc)
UNARY(sign_out, run_unary, Op::kSign)
UNARY(isinf_out, run_unary_predicate, Op::kIsInf)
UNARY(isnan_out, run_unary_predicate, Op::kIsNan)
UNARY(logical_not_out, run_unary_predicate, Op::kIsZero)
#undef UNARY

Error bitwise_not_out(KernelContext& context, Span<EValue* const> args) {
  const DType dtype = args[0]->tensor().dtype();
  if (!is_integer(dtype) && dtype != DType::kBool) return portable::unsupported_dtype(context);
  return run_unary(context, args, dtype == DType::kBool ? Op::kIsZero : Op::kBitNot);
}

Error clamp_out(KernelContext& context, Span<EValue* const> args) {
  BERTH_RETURN_IF_ERROR(portable::require_limit(context, *args[1], *args[2]));
  return run_clamp(context, args[0]->tensor(), *args[1], *args[2], args[3]->tensor());
}

Error hardtanh_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  if (self.dtype() == DType::kBool) return portable::unsupported_dtype(context);
  return run_clamp(context, self, *args[1], *args[2], args[3]->tensor());
}

Error elu_out(KernelContext& context, Span<EValue* const> args) {
  BERTH_RETURN_IF_ERROR(portable::require_floating(context, args[0]->tensor()));
  const double alpha = args[1]->scalar_to<double>();
  const double scale = args[2]->scalar_to<double>();
  Scalars scalars;
  scalars.real[0] = alpha * scale;
  scalars.real[1] = scale;
  scalars.real[2] = args[3]->scalar_to<double>();
  return run_unary(context, args, Op::kElu, scalars);
}

Error leaky_relu_out(KernelContext& context, Span<EValue* const> args) {
  BERTH_RETURN_IF_ERROR(portable::require_floating(context, args[0]->tensor()));
  Scalars scalars;
  scalars.real[0] = args[1]->scalar_to<double>();
  return run_unary(context, args, Op::kLeakyRelu, scalars);
}

Error gelu_out(KernelContext& context, Span<EValue* const> args) {
  BERTH_RETURN_IF_ERROR(portable::require_floating(context, args[0]->tensor()));
  bool is_tanh = false;
  BERTH_RETURN_IF_ERROR(portable::read_approximate(context, *args[1], &is_tanh));
  return run_unary(context, args, is_tanh ? Op::kGeluTanh : Op::kGelu);
}

Error logit_out(KernelContext& context, Span<EValue* const> args) {
  Scalars scalars;
  scalars.real[0] = args[1]->is_none() ? -1 : args[1]->scalar_to<double>();
  return run_unary_floating(context, args, Op::kLogit, scalars);
}

}  // namespace berth::cuda
