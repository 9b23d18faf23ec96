// Powers. Whole numbers stay whole (and wrap around); the common exponents of floats are products and roots.
#include <cmath>

#include "kernels/portable/elementwise_arguments.h"
#include "kernels/portable/loops.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/whole_power.h"

namespace berth::portable {
namespace {

template <typename T>
struct Power : NoScalars {
  using NoScalars::NoScalars;
  BERTH_INLINE T operator()(T x, T y) const { return std::pow(x, y); }
};
template <>
struct Power<int64_t> : NoScalars {
  using NoScalars::NoScalars;
  BERTH_INLINE int64_t operator()(int64_t x, int64_t y) const { return whole_power(x, y); }
};

template <>
struct Power<uint64_t> : NoScalars {
  using NoScalars::NoScalars;
  BERTH_INLINE uint64_t operator()(uint64_t x, uint64_t y) const { return unsigned_power(x, y); }
};

BERTH_INLINE float square_root(float x) { return __builtin_sqrtf(x); }
BERTH_INLINE double square_root(double x) { return __builtin_sqrt(x); }

#define BERTH_POWER_FUNCTOR(Functor, expression) \
  template <typename T> \
  struct Functor : NoScalars { \
    using NoScalars::NoScalars; \
    BERTH_INLINE T operator()(T x) const { return expression; } \
  };

BERTH_POWER_FUNCTOR(Square, x* x)
BERTH_POWER_FUNCTOR(Cube, x* x* x)
BERTH_POWER_FUNCTOR(Root, square_root(x))
BERTH_POWER_FUNCTOR(Inverse, T(1) / x)
BERTH_POWER_FUNCTOR(InverseSquare, T(1) / (x * x))
BERTH_POWER_FUNCTOR(InverseRoot, T(1) / square_root(x))

#undef BERTH_POWER_FUNCTOR

// The loops of an exponent that needs no pow; without any when it does.
Loops short_loops(double exponent) {
  switch (short_power(exponent)) {
    case ShortPower::kSquare: return unary_float_loops<Square>();
    case ShortPower::kCube: return unary_float_loops<Cube>();
    case ShortPower::kRoot: return unary_float_loops<Root>();
    case ShortPower::kInverse: return unary_float_loops<Inverse>();
    case ShortPower::kInverseSquare: return unary_float_loops<InverseSquare>();
    case ShortPower::kInverseRoot: return unary_float_loops<InverseRoot>();
    case ShortPower::kNone: break;
  }
  return {};
}

Error run_short_power(KernelContext& context, const Tensor& self, DType common, const Loops& loops, Tensor& out) {
  const DType compute = compute_dtype(common);
  const Input input = {&self, compute, common, nullptr};
  return run_elementwise(context, {&out, compute, common}, Span<const Input>(&input, 1), loops.at(compute), Scalars());
}

// The loops of an exponent that is one element for all of `self`.
Loops short_loops_of(const Tensor& self, const Tensor& exponent, DType common) {
  if (!is_floating(common) || exponent.numel() != 1 || exponent.rank() > self.rank()) return {};
  double value = 0;
  convert_elements(exponent.dtype(), exponent.raw(), DType::kF64, &value, 1);
  return short_loops(value);
}

}  // namespace

Error pow_Tensor_Tensor_out(KernelContext& context, const arguments::pow_Tensor_Tensor_out& args) {
  const Tensor& self = args.self;
  const Tensor& exponent = args.exponent;
  Tensor& out = args.out;
  const DType common = promote_types(self.dtype(), exponent.dtype());
  if (common == DType::kBool || !is_real(self.dtype()) || !is_real(exponent.dtype())) {
    return unsupported_dtype(context);
  }
  const Loops loops = short_loops_of(self, exponent, common);
  if (loops.f32 != nullptr) return run_short_power(context, self, common, loops, out);
  return run_binary(context, self, exponent, out, common, binary_loops<Power>());
}

Error pow_Tensor_Scalar_out(KernelContext& context, const arguments::pow_Tensor_Scalar_out& args) {
  const Tensor& self = args.self;
  const EValue& exponent = args.exponent;
  Tensor& out = args.out;
  const DType common = promote_scalar(self.dtype(), exponent);
  BERTH_RETURN_IF_ERROR(check_exponent(context, exponent, common));
  if (!is_floating(common)) {
    return run_binary_scalar(context, self, exponent, out, common, binary_loops<Power>());
  }
  const Loops loops = short_loops(exponent.scalar_to<double>());
  if (loops.f32 != nullptr) return run_short_power(context, self, common, loops, out);
  return run_binary_scalar(context, self, exponent, out, common, binary_loops<Power>());
}

Error pow_Scalar_out(KernelContext& context, const arguments::pow_Scalar_out& args) {
  const Tensor& exponent = args.exponent;
  const DType common = promote_scalar(exponent.dtype(), args.self);
  if (common == DType::kBool) return unsupported_dtype(context);
  return run_binary_scalar(context, exponent, args.self, args.out, common, binary_loops<Power>(), true);
}

}  // namespace berth::portable
