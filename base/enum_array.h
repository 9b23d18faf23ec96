// EnumArray: one element for each value of an enumeration that is numbered from 0 without gaps.
//
//     EnumArray<SimCall, uint64_t, kSimCalls> calls;        // or the enumeration's value behind the last one
//     ++calls[SimCall::kCopy];          // a plain number does not compile
#pragma once

#include <array>
#include <cstddef>

namespace berth {

template <typename Enum, typename T, auto kCount>
class EnumArray {
 public:
  /// REQUIRES: key is one of the first size() values.
  constexpr T& operator[](Enum key) { return items_[static_cast<size_t>(key)]; }
  constexpr const T& operator[](Enum key) const { return items_[static_cast<size_t>(key)]; }

  static constexpr size_t size() { return static_cast<size_t>(kCount); }
  void fill(const T& value) { items_.fill(value); }

 private:
  std::array<T, static_cast<size_t>(kCount)> items_{};
};

}  // namespace berth
