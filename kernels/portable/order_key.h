// A number as an unsigned integer of the same order: what topk and unique sort by.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/portable/dispatch.h"

namespace berth::portable {

template <size_t bytes>
using UnsignedOf =
    std::conditional_t<bytes == 1, uint8_t,
                       std::conditional_t<bytes == 2, uint16_t, std::conditional_t<bytes == 4, uint32_t, uint64_t>>>;

/// As large as the number. NaN is larger than every number and equal to itself; -0 equals 0.
template <typename T>
UnsignedOf<sizeof(T)> order_key(T x) {
  using Key = UnsignedOf<sizeof(T)>;
  constexpr Key kSign = Key(Key{1} << (8 * sizeof(Key) - 1));
  Key bits;
  std::memcpy(&bits, &x, sizeof bits);
  if constexpr (std::is_same_v<T, Bool>) {
    return static_cast<bool>(x) ? 1 : 0;
  } else if constexpr (std::is_integral_v<T>) {
    return std::is_signed_v<T> ? bits ^ kSign : bits;
  } else {
    const auto number = static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(x);
    if (number != number) return Key(~Key{0});
    if (bits == kSign) return kSign;
    return (bits & kSign) != 0 ? Key(~bits) : Key(bits | kSign);
  }
}

}  // namespace berth::portable
