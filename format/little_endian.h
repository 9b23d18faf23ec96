// Numbers of files, whose bytes are little-endian whatever the machine's are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth::format {

/// The unsigned number in the first sizeof(T) bytes, at any address.
template <typename T>
T little_endian(const uint8_t* bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>(value | static_cast<T>(bytes[i]) << (8 * i));
  return value;
}

}  // namespace berth::format
