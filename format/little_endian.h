// Reading little-endian numbers from files, on any machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth::format {

/// The unsigned number in the first sizeof(T) bytes. `bytes` need not be aligned.
template <typename T>
T little_endian(const uint8_t* bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>(value | static_cast<T>(bytes[i]) << (8 * i));
  return value;
}

}  // namespace berth::format
