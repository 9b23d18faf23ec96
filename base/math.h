// Arithmetic on sizes with overflow checks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth {

/// Whether `a + b` fits; then `*out` is the sum.
template <typename T>
[[nodiscard]] constexpr bool checked_add(T a, T b, T* out) {
  return !__builtin_add_overflow(a, b, out);
}

/// Whether `a * b` fits; then `*out` is the product.
template <typename T>
[[nodiscard]] constexpr bool checked_mul(T a, T b, T* out) {
  return !__builtin_mul_overflow(a, b, out);
}

/// Whether `value`, which may be negative, is an index into `count` things.
template <typename T>
constexpr bool is_index(T value, size_t count) {
  return value >= 0 && static_cast<size_t>(value) < count;
}

constexpr bool is_power_of_two(uint64_t x) { return x != 0 && (x & (x - 1)) == 0; }

/// `a / b`, rounded up. REQUIRES: a >= 0, b > 0, and a + b fits.
template <typename T>
constexpr T ceil_div(T a, T b) {
  return (a + b - 1) / b;
}

/// The smallest multiple of `alignment` that is at least `x`. REQUIRES: alignment > 0 and the result fits.
template <typename T>
constexpr T align_up(T x, T alignment) {
  return (x + alignment - 1) / alignment * alignment;
}

}  // namespace berth
