// Activations and limits: clamp, hardtanh, elu, leaky_relu, gelu, logit.
#include "kernels/portable/elementwise_arguments.h"
#include "kernels/portable/loops.h"
#include "kernels/portable/math.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

template <typename T>
T scalar_of(const Scalars& scalars, int i) {
  if constexpr (std::is_same_v<T, int64_t>) {
    return scalars.whole[i];
  } else {
    return static_cast<T>(scalars.real[i]);
  }
}

// NaN stays; a limit that is NaN makes everything NaN; of a lower limit above the upper one, the upper one counts.
template <typename T>
struct Clamp {
  explicit Clamp(const Scalars& s) : low(scalar_of<T>(s, 0)), high(scalar_of<T>(s, 1)) {
    if (high != high) low = high;
    if (low != low) high = low;
    nan = low != low;
  }
  BERTH_INLINE T operator()(T x) const {
    const T raised = x < low ? low : x;
    const T bounded = raised > high ? high : raised;
    return nan ? low : bounded;
  }
  T low, high;
  bool nan;
};

template <typename T>
struct Elu {
  explicit Elu(const Scalars& s)
      : negative(static_cast<T>(s.real[0] * s.real[1])),
        positive(static_cast<T>(s.real[1])),
        inner(static_cast<T>(s.real[2])) {}
  BERTH_INLINE T operator()(T x) const { return x <= 0 ? math::expm1(x * inner) * negative : x * positive; }
  T negative, positive, inner;
};

template <typename T>
struct LeakyRelu {
  explicit LeakyRelu(const Scalars& s) : slope(static_cast<T>(s.real[0])) {}
  BERTH_INLINE T operator()(T x) const { return x > 0 ? x : x * slope; }
  T slope;
};

template <typename T>
struct Gelu : NoScalars {
  using NoScalars::NoScalars;
  BERTH_INLINE T operator()(T x) const { return x * T(0.5) * (T(1) + math::erf(x * T(0.70710678118654752440))); }
};

template <typename T>
struct GeluTanh : NoScalars {
  using NoScalars::NoScalars;
  BERTH_INLINE T operator()(T x) const {
    const T inner = T(0.79788456080286535588) * (x + T(0.044715) * (x * x * x));
    return T(0.5) * x * (T(1) + math::tanh(inner));
  }
};

// ln(x / (1 - x)), with x limited to [eps, 1 - eps] unless eps is negative.
template <typename T>
struct Logit {
  explicit Logit(const Scalars& s) : low(static_cast<T>(s.real[0])), high(T(1) - low) {
    if (low < 0) {
      low = -std::numeric_limits<T>::infinity();
      high = -low;
    }
  }
  BERTH_INLINE T operator()(T x) const {
    const T raised = x < low ? low : x;
    const T bounded = raised > high ? high : raised;
    return math::log(bounded / (T(1) - bounded));
  }
  T low, high;
};

Error run_clamp(KernelContext& context, const Tensor& self, const EValue& low, const EValue& high, Tensor& out) {
  const Scalars scalars = read_limits(low, high);
  const Tensor* tensor = &self;
  constexpr Loops kLoops = unary_loops<Clamp>();
  if (run_dense_f32(context, out, Span<const Tensor* const>(&tensor, 1), kLoops.f32, scalars)) return Error::kOk;
  const DType common = promote_limits(self.dtype(), low, high);
  const DType compute = compute_dtype(common);
  const Input input = {&self, compute, common, nullptr};
  return run_elementwise(context, {&out, compute, common}, Span<const Input>(&input, 1), kLoops.at(compute), scalars);
}

}  // namespace

Error clamp_out(KernelContext& context, Span<EValue* const> args) {
  BERTH_RETURN_IF_ERROR(require_limit(context, *args[1], *args[2]));
  return run_clamp(context, args[0]->tensor(), *args[1], *args[2], args[3]->tensor());
}

Error hardtanh_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  if (self.dtype() == DType::kBool) return unsupported_dtype(context);
  return run_clamp(context, self, *args[1], *args[2], args[3]->tensor());
}

Error elu_out(KernelContext& context, Span<EValue* const> args) {
  BERTH_RETURN_IF_ERROR(require_floating(context, args[0]->tensor()));
  Scalars scalars;
  for (int i = 0; i < 3; ++i) scalars.real[i] = args[static_cast<size_t>(i) + 1]->scalar_to<double>();
  return run_unary(context, args, unary_float_loops<Elu>(), scalars);
}

Error leaky_relu_out(KernelContext& context, Span<EValue* const> args) {
  BERTH_RETURN_IF_ERROR(require_floating(context, args[0]->tensor()));
  Scalars scalars;
  scalars.real[0] = args[1]->scalar_to<double>();
  return run_unary(context, args, unary_float_loops<LeakyRelu>(), scalars);
}

Error gelu_out(KernelContext& context, Span<EValue* const> args) {
  BERTH_RETURN_IF_ERROR(require_floating(context, args[0]->tensor()));
  bool is_tanh = false;
  BERTH_RETURN_IF_ERROR(read_approximate(context, *args[1], &is_tanh));
  return run_unary(context, args, is_tanh ? unary_float_loops<GeluTanh>() : unary_float_loops<Gelu>());
}

Error logit_out(KernelContext& context, Span<EValue* const> args) {
  Scalars scalars;
  scalars.real[0] = args[1]->is_none() ? -1 : args[1]->scalar_to<double>();
  return run_unary_floating(context, args, unary_float_loops<Logit>(), scalars);
}

}  // namespace berth::portable
