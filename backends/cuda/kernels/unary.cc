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
  Error identifier(KernelContext& context, const arguments::identifier& args) { \
    return way(context, args.self, args.out, op); \
  }
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

Error bitwise_not_out(KernelContext& context, const arguments::bitwise_not_out& args) {
  const DType dtype = args.self.dtype();
  if (!is_integer(dtype) && dtype != DType::kBool) return portable::unsupported_dtype(context);
  return run_unary(context, args.self, args.out, dtype == DType::kBool ? Op::kIsZero : Op::kBitNot);
}

Error clamp_out(KernelContext& context, const arguments::clamp_out& args) {
  BERTH_RETURN_IF_ERROR(portable::require_limit(context, !args.min.is_none() || !args.max.is_none()));
  return run_clamp(context, args.self, args.min, args.max, args.out);
}

Error hardtanh_out(KernelContext& context, const arguments::hardtanh_out& args) {
  const Tensor& self = args.self;
  if (self.dtype() == DType::kBool) return portable::unsupported_dtype(context);
  return run_clamp(context, self, args.min_val, args.max_val, args.out);
}

Error elu_out(KernelContext& context, const arguments::elu_out& args) {
  BERTH_RETURN_IF_ERROR(portable::require_floating(context, args.self));
  const double alpha = args.alpha.scalar_to<double>();
  const double scale = args.scale.scalar_to<double>();
  Scalars scalars;
  scalars.real[0] = alpha * scale;
  scalars.real[1] = scale;
  scalars.real[2] = args.input_scale.scalar_to<double>();
  return run_unary(context, args.self, args.out, Op::kElu, scalars);
}

Error leaky_relu_out(KernelContext& context, const arguments::leaky_relu_out& args) {
  BERTH_RETURN_IF_ERROR(portable::require_floating(context, args.self));
  Scalars scalars;
  scalars.real[0] = args.negative_slope.scalar_to<double>();
  return run_unary(context, args.self, args.out, Op::kLeakyRelu, scalars);
}

Error gelu_out(KernelContext& context, const arguments::gelu_out& args) {
  BERTH_RETURN_IF_ERROR(portable::require_floating(context, args.self));
  bool is_tanh = false;
  BERTH_RETURN_IF_ERROR(portable::read_approximate(context, args.approximate, &is_tanh));
  return run_unary(context, args.self, args.out, is_tanh ? Op::kGeluTanh : Op::kGelu);
}

Error logit_out(KernelContext& context, const arguments::logit_out& args) {
  Scalars scalars;
  scalars.real[0] = args.eps.value_or(-1);
  return run_unary_floating(context, args.self, args.out, Op::kLogit, scalars);
}

}  // namespace berth::cuda
