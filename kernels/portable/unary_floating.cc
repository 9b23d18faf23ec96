// Operators on one tensor whose result is floating: exponentials, logarithms, roots, trigonometry.
#include "kernels/portable/loops.h"
#include "kernels/portable/math.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/promotion.h"
#include "kernels/portable/sines.h"

namespace berth::portable {
namespace {

BERTH_INLINE float square_root(float x) { return __builtin_sqrtf(x); }
BERTH_INLINE double square_root(double x) { return __builtin_sqrt(x); }

// The functions of math.h that compilers vectorise, and those of the C library that they do not: a functor and a kernel
// each.
#define BERTH_FLOATING_KERNEL(kernel, Functor, expression) \
  template <typename T> \
  struct Functor : NoScalars { \
    using NoScalars::NoScalars; \
    BERTH_INLINE T operator()(T x) const { return expression; } \
  }; \
  } \
  Error kernel(KernelContext& context, const arguments::kernel& args) { \
    return run_unary_floating(context, args.self, args.out, unary_float_loops<Functor>()); \
  } \
  namespace {

BERTH_FLOATING_KERNEL(erf_out, Erf, math::erf(x))
BERTH_FLOATING_KERNEL(exp_out, Exp, math::exp(x))
BERTH_FLOATING_KERNEL(expm1_out, Expm1, math::expm1(x))
BERTH_FLOATING_KERNEL(log_out, Log, math::log(x))
BERTH_FLOATING_KERNEL(log10_out, Log10, math::log10(x))
BERTH_FLOATING_KERNEL(log1p_out, Log1p, math::log1p(x))
BERTH_FLOATING_KERNEL(log2_out, Log2, math::log2(x))
BERTH_FLOATING_KERNEL(sigmoid_out, Sigmoid, math::sigmoid(x))
BERTH_FLOATING_KERNEL(tanh_out, Tanh, math::tanh(x))
BERTH_FLOATING_KERNEL(reciprocal_out, Reciprocal, 1 / x)
BERTH_FLOATING_KERNEL(rsqrt_out, Rsqrt, 1 / square_root(x))
BERTH_FLOATING_KERNEL(sqrt_out, Sqrt, square_root(x))

BERTH_FLOATING_KERNEL(acos_out, Acos, std::acos(x))
BERTH_FLOATING_KERNEL(acosh_out, Acosh, std::acosh(x))
BERTH_FLOATING_KERNEL(asin_out, Asin, std::asin(x))
BERTH_FLOATING_KERNEL(asinh_out, Asinh, std::asinh(x))
BERTH_FLOATING_KERNEL(atan_out, Atan, std::atan(x))
BERTH_FLOATING_KERNEL(atanh_out, Atanh, std::atanh(x))
BERTH_FLOATING_KERNEL(cosh_out, Cosh, std::cosh(x))
BERTH_FLOATING_KERNEL(sinh_out, Sinh, std::sinh(x))
BERTH_FLOATING_KERNEL(tan_out, Tan, std::tan(x))

#undef BERTH_FLOATING_KERNEL

template <void run(const float* in, int64_t n, float* out)>
void sines_f32(const Chunk& chunk) {
  run(static_cast<const float*>(chunk.in[0]), chunk.n, static_cast<float*>(chunk.out));
}

template <typename T>
struct Sine : NoScalars {
  using NoScalars::NoScalars;
  T operator()(T x) const { return std::sin(x); }
};
template <typename T>
struct Cosine : NoScalars {
  using NoScalars::NoScalars;
  T operator()(T x) const { return std::cos(x); }
};

}  // namespace

Error sin_out(KernelContext& context, const arguments::sin_out& args) {
  return run_unary_floating(context, args.self, args.out, {sines_f32<math::sines>, unary_plain<Sine, double>, nullptr});
}
Error cos_out(KernelContext& context, const arguments::cos_out& args) {
  return run_unary_floating(context, args.self, args.out,
                            {sines_f32<math::cosines>, unary_plain<Cosine, double>, nullptr});
}

}  // namespace berth::portable
