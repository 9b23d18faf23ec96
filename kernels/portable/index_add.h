// Sums of elements that meet in one place (scatter_add, index_put with accumulate).
#pragma once

#include <type_traits>

#include "kernels/portable/dispatch.h"

namespace berth::portable {

/// Adds as PyTorch does in the element's own type: integers wrap, bool is "or", 16-bit floats round after each sum.
template <typename T>
inline void add_to(T* sum, T x) {
  if constexpr (std::is_integral_v<T>) {
    T result;
    __builtin_add_overflow(*sum, x, &result);  // the low bits
    *sum = result;
  } else if constexpr (std::is_same_v<T, Bool>) {
    *sum = Bool(static_cast<bool>(*sum) || static_cast<bool>(x));
  } else if constexpr (std::is_same_v<T, double>) {
    *sum += x;
  } else {
    *sum = T(static_cast<float>(*sum) + static_cast<float>(x));
  }
}

}  // namespace berth::portable
