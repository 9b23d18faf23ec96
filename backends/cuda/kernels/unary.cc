// Element-wise operators on one tensor.
#include <cstring>
#include <limits>

#include "backends/cuda/kernels/elementwise.h"
#include "backends/cuda/kernels/kernels.h"
#include "kernels/portable/promotion.h"

namespace berth::cuda {
namespace {

Error require_floating(KernelContext& context, const Tensor& self) {
  if (is_floating(self.dtype())) return Error::kOk;
  return context.fail(Error::kInvalidArgument, "this operator takes floating-point tensors only");
}

// Both readings of a limit: as a real and as a whole number. None is no limit.
void set_limit(const EValue& limit, int i, Scalars* scalars) {
  if (limit.is_none()) {
    const double infinity = std::numeric_limits<double>::infinity();
    scalars->real[i] = i == 0 ? -infinity : infinity;
    scalars->whole[i] = i == 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
    return;
  }
  scalars->real[i] = limit.scalar_to<double>();
  if (!limit.is_double()) scalars->whole[i] = limit.scalar_to<int64_t>();
}

Error run_clamp(KernelContext& context, const Tensor& self, const EValue& low, const EValue& high, Tensor& out) {
  Scalars scalars;
  set_limit(low, 0, &scalars);
  set_limit(high, 1, &scalars);
  DType common = self.dtype();
  if (!low.is_none()) common = portable::promote_scalar(common, low);
  if (!high.is_none()) common = portable::promote_scalar(common, high);
  return run_as(context, self, out, common, Op::kClamp, scalars);
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
  if (args[1]->is_none() && args[2]->is_none()) {
    return context.fail(Error::kInvalidArgument, "clamp needs at least one of min and max");
  }
  return run_clamp(context, args[0]->tensor(), *args[1], *args[2], args[3]->tensor());
}

Error hardtanh_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  if (self.dtype() == DType::kBool) return portable::unsupported_dtype(context);
  return run_clamp(context, self, *args[1], *args[2], args[3]->tensor());
}

Error elu_out(KernelContext& context, Span<EValue* const> args) {
  BERTH_RETURN_IF_ERROR(require_floating(context, args[0]->tensor()));
  const double alpha = args[1]->scalar_to<double>();
  const double scale = args[2]->scalar_to<double>();
  Scalars scalars;
  scalars.real[0] = alpha * scale;
  scalars.real[1] = scale;
  scalars.real[2] = args[3]->scalar_to<double>();
  return run_unary(context, args, Op::kElu, scalars);
}

Error leaky_relu_out(KernelContext& context, Span<EValue* const> args) {
  BERTH_RETURN_IF_ERROR(require_floating(context, args[0]->tensor()));
  Scalars scalars;
  scalars.real[0] = args[1]->scalar_to<double>();
  return run_unary(context, args, Op::kLeakyRelu, scalars);
}

Error gelu_out(KernelContext& context, Span<EValue* const> args) {
  BERTH_RETURN_IF_ERROR(require_floating(context, args[0]->tensor()));
  const StringRef approximate = args[1]->text();
  if (approximate.size != 4 ||
      (std::memcmp(approximate.data, "none", 4) != 0 && std::memcmp(approximate.data, "tanh", 4) != 0)) {
    return context.fail(Error::kInvalidArgument, "gelu's approximate must be 'none' or 'tanh'");
  }
  return run_unary(context, args, approximate.data[0] == 'n' ? Op::kGelu : Op::kGeluTanh);
}

Error logit_out(KernelContext& context, Span<EValue* const> args) {
  Scalars scalars;
  scalars.real[0] = args[1]->is_none() ? -1 : args[1]->scalar_to<double>();
  return run_unary_floating(context, args, Op::kLogit, scalars);
}

}  // namespace berth::cuda
