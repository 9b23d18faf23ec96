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
  BERTH_INLINE T operator()(T x) const { return math::gelu(x); }
};

template <typename T>
struct GeluTanh : NoScalars {
  using NoScalars::NoScalars;
  BERTH_INLINE T operator()(T x) const { return math::gelu_tanh(x); }
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

Error clamp_out(KernelContext& context, const arguments::clamp_out& args) {
  BERTH_RETURN_IF_ERROR(require_limit(context, !args.min.is_none() || !args.max.is_none()));
  return run_clamp(context, args.self, args.min, args.max, args.out);
}

Error hardtanh_out(KernelContext& context, const arguments::hardtanh_out& args) {
  const Tensor& self = args.self;
  if (self.dtype() == DType::kBool) return unsupported_dtype(context);
  return run_clamp(context, self, args.min_val, args.max_val, args.out);
}

Error elu_out(KernelContext& context, const arguments::elu_out& args) {
  BERTH_RETURN_IF_ERROR(require_floating(context, args.self));
  Scalars scalars;
  scalars.real[0] = args.alpha.scalar_to<double>();
  scalars.real[1] = args.scale.scalar_to<double>();
  scalars.real[2] = args.input_scale.scalar_to<double>();
  return run_unary(context, args.self, args.out, unary_float_loops<Elu>(), scalars);
}

Error leaky_relu_out(KernelContext& context, const arguments::leaky_relu_out& args) {
  BERTH_RETURN_IF_ERROR(require_floating(context, args.self));
  Scalars scalars;
  scalars.real[0] = args.negative_slope.scalar_to<double>();
  return run_unary(context, args.self, args.out, unary_float_loops<LeakyRelu>(), scalars);
}

Error gelu_out(KernelContext& context, const arguments::gelu_out& args) {
  BERTH_RETURN_IF_ERROR(require_floating(context, args.self));
  bool is_tanh = false;
  BERTH_RETURN_IF_ERROR(read_approximate(context, args.approximate, &is_tanh));
  return run_unary(context, args.self, args.out, is_tanh ? unary_float_loops<GeluTanh>() : unary_float_loops<Gelu>());
}

Error logit_out(KernelContext& context, const arguments::logit_out& args) {
  Scalars scalars;
  scalars.real[0] = args.eps.value_or(-1);
  return run_unary_floating(context, args.self, args.out, unary_float_loops<Logit>(), scalars);
}

}  // namespace berth::portable
