// A number as an unsigned integer of the same order: what topk and unique sort by.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/portable/dispatch.h"

namespace berth::portable {

/// NaN is larger than every number and equal to itself; -0 equals 0.
template <typename T>
uint64_t order_key(T x) {
  if constexpr (std::is_same_v<T, Bool>) {
    return static_cast<bool>(x) ? 1 : 0;
  } else if constexpr (std::is_integral_v<T>) {
    constexpr uint64_t kShift = std::is_signed_v<T> ? uint64_t{1} << 63 : 0;
    return static_cast<uint64_t>(static_cast<int64_t>(x)) ^ kShift;
  } else {
    const double number =
        static_cast<double>(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(x));
    if (number != number) return UINT64_MAX;
    if (number == 0) return uint64_t{1} << 63;
    uint64_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    return (bits >> 63) != 0 ? ~bits : bits | uint64_t{1} << 63;
  }
}

}  // namespace berth::portable
