// A double as an element of a floating type, 16-bit types among them.
#pragma once

#include <type_traits>

namespace berth::portable {

template <typename T>
inline T narrow(double x) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(x);
  } else {
    return T(static_cast<float>(x));
  }
}

}  // namespace berth::portable
