// Division with a rounding mode, and what it leaves: div (trunc, floor), floor_divide, remainder, fmod.
//
// floor and remainder go together and have the divisor's sign, as in Python; trunc and fmod have the dividend's, as in
// C. A whole number divided by zero is an error.
#include <cmath>

#include "kernels/portable/arithmetic.h"
#include "kernels/portable/elementwise_arguments.h"
#include "kernels/portable/loops.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

template <typename T>
BERTH_INLINE T truncated_quotient(T x, T y) {
  return std::trunc(x / y);
}
// The smallest integer divided by -1 wraps. Zero divisors were refused before.
BERTH_INLINE int64_t truncated_quotient(int64_t x, int64_t y) {
  if (y == 0) return 0;
  if (y == -1) return static_cast<int64_t>(-static_cast<uint64_t>(x));
  return x / y;
}
BERTH_INLINE uint64_t truncated_quotient(uint64_t x, uint64_t y) { return y == 0 ? 0 : x / y; }

template <typename T>
BERTH_INLINE T truncated_rest(T x, T y) {
  return std::fmod(x, y);
}
BERTH_INLINE int64_t truncated_rest(int64_t x, int64_t y) { return y == 0 || y == -1 ? 0 : x % y; }
BERTH_INLINE uint64_t truncated_rest(uint64_t x, uint64_t y) { return y == 0 ? 0 : x % y; }

template <typename T>
BERTH_INLINE T floored_rest(T x, T y) {
  const T rest = truncated_rest(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}
BERTH_INLINE uint64_t floored_rest(uint64_t x, uint64_t y) { return truncated_rest(x, y); }

// Without the exact rest a whole multiple of y is left, so that the quotient needs rounding to the nearest only. A zero
// has the sign of x / y.
template <typename T>
BERTH_INLINE T floored_quotient(T x, T y) {
  if (y == 0) return x / y;
  const T rest = truncated_rest(x, y);
  const T below = rest != 0 && (rest < 0) != (y < 0) ? T(1) : T(0);
  const T quotient = std::rint((x - rest) / y - below);
  return quotient == 0 ? std::copysign(T(0), x / y) : quotient;
}
BERTH_INLINE int64_t floored_quotient(int64_t x, int64_t y) {
  const int64_t quotient = truncated_quotient(x, y);
  const int64_t rest = truncated_rest(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? quotient - 1 : quotient;
}
BERTH_INLINE uint64_t floored_quotient(uint64_t x, uint64_t y) { return truncated_quotient(x, y); }

template <typename T>
struct DivTrunc : NoScalars {
  using NoScalars::NoScalars;
  BERTH_INLINE T operator()(T x, T y) const { return truncated_quotient(x, y); }
};
// A quotient of 16-bit floats is rounded to their type before it is truncated.
template <typename Short>
struct RoundedQuotient : NoScalars {
  using NoScalars::NoScalars;
  BERTH_INLINE float operator()(float x, float y) const { return __builtin_truncf(static_cast<float>(Short(x / y))); }
};
template <typename Short>
void div_trunc_rounded(const Chunk& chunk) {
  binary_chunk<float, float>(chunk, RoundedQuotient<Short>(*chunk.scalars));
}
template <typename T>
struct DivFloor : NoScalars {
  using NoScalars::NoScalars;
  BERTH_INLINE T operator()(T x, T y) const { return floored_quotient(x, y); }
};
template <typename T>
struct Fmod : NoScalars {
  using NoScalars::NoScalars;
  BERTH_INLINE T operator()(T x, T y) const { return truncated_rest(x, y); }
};
template <typename T>
struct Remainder : NoScalars {
  using NoScalars::NoScalars;
  BERTH_INLINE T operator()(T x, T y) const { return floored_rest(x, y); }
};

template <typename T>
bool has_zero(const Tensor& tensor) {
  const T* elements = tensor.data<T>();
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    if (elements[i] == 0) return true;
  }
  return false;
}

// Division of whole numbers must not meet a zero, and is not defined on bool.
Error check_divisor(KernelContext& context, const Tensor& divisor, DType common) {
  if (is_floating(common)) return Error::kOk;
  if (common == DType::kBool) return unsupported_dtype(context);
  if (!is_integer(divisor.dtype()) && divisor.dtype() != DType::kBool) return unsupported_dtype(context);
  return dispatch_bytes(context, divisor.dtype(), [&](auto tag) {
    return has_zero<typename decltype(tag)::type>(divisor) ? divided_by_zero(context) : Error::kOk;
  });
}

Error run_division(KernelContext& context, const Tensor& a, const Tensor& b, Tensor& out, const Loops& loops) {
  const DType common = promote_types(a.dtype(), b.dtype());
  if (a.numel() != 0) {
    if (const Error error = check_divisor(context, b, common); error != Error::kOk) return error;
  }
  return run_binary(context, a, b, out, common, loops);
}

Error run_division_scalar(KernelContext& context, const Tensor& self, const EValue& other, Tensor& out,
                          const Loops& loops) {
  const DType common = promote_scalar(self.dtype(), other);
  BERTH_RETURN_IF_ERROR(check_scalar_divisor(context, other, common));
  return run_binary_scalar(context, self, other, out, common, loops);
}

Loops trunc_loops(DType common) {
  Loops loops = binary_loops<DivTrunc>();
  if (common == DType::kF16) loops.f32 = div_trunc_rounded<Half>;
  if (common == DType::kBF16) loops.f32 = div_trunc_rounded<BFloat16>;
  return loops;
}

}  // namespace

Error div_out_mode(KernelContext& context, const arguments::div_out_mode& args) {
  const Tensor& a = args.self;
  const Tensor& b = args.other;
  Rounding rounding = Rounding::kNone;
  BERTH_RETURN_IF_ERROR(read_rounding(context, args.rounding_mode, &rounding));
  if (rounding == Rounding::kNone) return divide(context, a, b, args.out);
  const bool truncates = rounding == Rounding::kTrunc;
  return run_division(context, a, b, args.out,
                      truncates ? trunc_loops(promoted(args.self, args.other)) : binary_loops<DivFloor>());
}

Error div_Scalar_mode_out(KernelContext& context, const arguments::div_Scalar_mode_out& args) {
  const Tensor& self = args.self;
  Rounding rounding = Rounding::kNone;
  BERTH_RETURN_IF_ERROR(read_rounding(context, args.rounding_mode, &rounding));
  if (rounding == Rounding::kNone) return divide_by_scalar(context, self, args.other, args.out);
  const bool truncates = rounding == Rounding::kTrunc;
  return run_division_scalar(context, self, args.other, args.out,
                             truncates ? trunc_loops(self.dtype()) : binary_loops<DivFloor>());
}

Error floor_divide_out(KernelContext& context, const arguments::floor_divide_out& args) {
  return run_division(context, args.self, args.other, args.out, binary_loops<DivFloor>());
}
Error fmod_Tensor_out(KernelContext& context, const arguments::fmod_Tensor_out& args) {
  return run_division(context, args.self, args.other, args.out, binary_loops<Fmod>());
}
Error fmod_Scalar_out(KernelContext& context, const arguments::fmod_Scalar_out& args) {
  return run_division_scalar(context, args.self, args.other, args.out, binary_loops<Fmod>());
}
Error remainder_Tensor_out(KernelContext& context, const arguments::remainder_Tensor_out& args) {
  return run_division(context, args.self, args.other, args.out, binary_loops<Remainder>());
}
Error remainder_Scalar_out(KernelContext& context, const arguments::remainder_Scalar_out& args) {
  return run_division_scalar(context, args.self, args.other, args.out, binary_loops<Remainder>());
}

}  // namespace berth::portable
