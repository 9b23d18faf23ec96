// Permutations that merge or part two streams, and others, against the portable kernels. The fears: streams swapped, a
// pattern taken for another, elements past the last whole register.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "kernels/cpu/compare_testing.h"

namespace berth::cpu {
namespace {

using testing::Array;

// Bytes of the sizes and the order of `x`.
Array bytes_like(const Array& x, DType dtype) {
  const Span<const uint8_t> order = x.tensor().dim_order();
  const Array bytes(dtype, x.sizes(), {}, std::vector<uint8_t>(order.begin(), order.end()));
  uint8_t* data = bytes.tensor().data<uint8_t>();
  for (int64_t i = 0; i < bytes.tensor().numel(); ++i) data[i] = static_cast<uint8_t>(i * 167 + i / 251);
  return bytes;
}

void check(const Array& x, const std::vector<int64_t>& dims, const std::vector<uint8_t>& order) {
  std::vector<int32_t> sizes;
  for (const int64_t d : dims) sizes.push_back(x.sizes()[d]);
  expect_same_as_portable("aten::permute_copy.out", {x, dims}, {Array(DType::kF32, sizes, {}, order)}, 0);
  for (const DType dtype : {DType::kU8, DType::kI8}) {
    expect_same_as_portable("aten::permute_copy.out", {bytes_like(x, dtype), dims}, {Array(dtype, sizes, {}, order)},
                            0);
  }
}

TEST(Permute, ChannelShuffles) {
  std::mt19937 random(1);
  const std::vector<uint8_t> last = {0, 3, 4, 1, 2};
  for (const int32_t c : {1, 7, 8, 15, 16, 17, 58, 116}) {
    check(random_array(random, {2, 2, c, 5, 3}, last), {0, 2, 1, 3, 4}, last);
    check(random_array(random, {2, c, 2, 5, 3}, last), {0, 2, 1, 3, 4}, last);
    check(random_array(random, {2, 3, c, 5, 3}, last), {0, 2, 1, 3, 4}, last);
    check(random_array(random, {3, 2, c}), {0, 2, 1}, {});
    check(random_array(random, {3, c, 2}), {0, 2, 1}, {});
    check(random_array(random, {2, c}), {1, 0}, {});
    // Two elements side by side that are not streams: what follows them lies farther off.
    check(random_array(random, {c, 3, 2}), {1, 2, 0}, {});
    check(random_array(random, {2, 3, c}), {1, 2, 0}, {});
  }
}

TEST(Permute, RandomOrders) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  std::mt19937 random(seed.value);
  for (int i = 0; i < 100; ++i) {
    std::vector<int64_t> dims = {0, 1, 2, 3};
    std::vector<uint8_t> from = {0, 1, 2, 3};
    std::vector<uint8_t> to = {0, 1, 2, 3};
    std::shuffle(dims.begin(), dims.end(), random);
    std::shuffle(from.begin(), from.end(), random);
    std::shuffle(to.begin(), to.end(), random);
    const int32_t choices[] = {1, 2, 2, 3, 9, 20};
    std::vector<int32_t> sizes;
    for (int d = 0; d < 4; ++d) sizes.push_back(choices[random() % 6]);
    check(random_array(random, sizes, from), dims, to);
  }
}

TEST(Permute, ImagesBetweenPlanesAndPixels) {
  std::mt19937 random(3);
  const std::vector<uint8_t> last = {0, 2, 3, 1};
  for (const int32_t c : {1, 2, 3, 4, 5, 16}) {
    for (const int32_t size : {1, 3, 8, 101}) {
      const Array planes = random_array(random, {2, c, size, 100});
      const Array pixels = random_array(random, {2, c, size, 100}, last);
      const std::vector<int64_t> to_last = {0, 2, 3, 1};
      const std::vector<int64_t> to_first = {0, 1, 2, 3};
      for (const char* name : {"dim_order_ops::_to_dim_order_copy.out", "dim_order_ops::_clone_dim_order.out"}) {
        expect_same_as_portable(name, {planes, false, to_last}, {array_like(pixels)}, 0);
        expect_same_as_portable(name, {pixels, false, to_first}, {array_like(planes)}, 0);
        expect_same_as_portable(name, {pixels, false, to_last}, {array_like(pixels)}, 0);
        const Array byte_planes = bytes_like(planes, DType::kI8), byte_pixels = bytes_like(pixels, DType::kI8);
        expect_same_as_portable(name, {byte_planes, false, to_last}, {array_like(byte_pixels)}, 0);
        expect_same_as_portable(name, {byte_pixels, false, to_first}, {array_like(byte_planes)}, 0);
      }
      check(planes, to_last, {});
    }
  }
}

TEST(Permute, Transposes) {
  std::mt19937 random(2);
  expect_same_as_portable("aten::transpose_copy.int_out", {random_array(random, {4, 2, 33}), 1, 2},
                          {testing::f32({4, 33, 2})}, 0);
}

}  // namespace
}  // namespace berth::cpu
