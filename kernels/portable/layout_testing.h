// For the tests of kernels that move elements: numbered elements, row-major arithmetic, dimension orders to try.
//
// Not part of any library.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "kernels/portable/kernel_testing.h"

namespace berth::testing {

inline int64_t count_of(const Shape& shape) {
  int64_t count = 1;
  for (const int32_t size : shape) count *= size;
  return count;
}

/// 1, 2, 3, … for a tensor of this shape.
inline Values numbered(const Shape& shape) {
  Values values(count_of(shape));
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

/// The coordinates of element `index` in row-major order.
inline Ints coordinates(const Shape& shape, int64_t index) {
  Ints at(shape.size());
  for (size_t d = shape.size(); d-- > 0; index /= shape[d]) at[d] = index % shape[d];
  return at;
}

/// The inverse of coordinates().
inline size_t flat(const Shape& shape, const Ints& at) {
  int64_t index = 0;
  for (size_t d = 0; d < shape.size(); ++d) index = index * shape[d] + at[d];
  return index;
}

/// What `read(coordinates)` gives for each element of a tensor of this shape.
template <typename Read>
Values filled(const Shape& shape, Read&& read) {
  Values values(count_of(shape));
  for (size_t i = 0; i < values.size(); ++i) values[i] = read(coordinates(shape, static_cast<int64_t>(i)));
  return values;
}

/// Expects these elements, each within `tolerance`, and nothing written around them.
inline void expect_near(const Array& got, const Values& want, double tolerance = 1e-5) {
  const Values values = got.values();
  ASSERT_EQ(values.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(values[i], want[i], tolerance) << "element " << i;
  EXPECT_TRUE(got.intact());
}

/// Row-major, reversed, and channels-last where there are channels.
inline std::vector<Order> orders(size_t rank) {
  Order plain(rank);
  std::iota(plain.begin(), plain.end(), uint8_t{0});
  std::vector<Order> result{plain};
  if (rank >= 2) result.emplace_back(plain.rbegin(), plain.rend());
  if (rank >= 3) {
    Order last = plain;
    std::rotate(last.begin() + 1, last.begin() + 2, last.end());
    result.push_back(last);
  }
  return result;
}

/// The elements of a list argument that are tensors.
inline Arg tensors(const std::vector<Array>& arrays) {
  std::vector<Arg> items(arrays.begin(), arrays.end());
  return Arg::list(items);
}

}  // namespace berth::testing
