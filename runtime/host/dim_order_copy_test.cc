#include "runtime/host/dim_order_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "base/seeds_testing.h"

namespace berth {
namespace {

// Where the element at `index` is.
size_t place(const std::vector<uint8_t>& order, const std::vector<int32_t>& sizes, const std::vector<size_t>& index) {
  size_t place = 0;
  for (const uint8_t dim : order) place = place * sizes[dim] + index[dim];
  return place;
}

TEST(DimOrderCopy, EveryElementArrivesWhereItsIndexSays) {
  testing::for_each_seed(300, [](unsigned seed) {
    std::mt19937 random(seed);
    const size_t rank = random() % 6;
    std::vector<uint8_t> from(rank);
    std::vector<int32_t> sizes(rank);
    std::iota(from.begin(), from.end(), uint8_t{0});
    std::vector<uint8_t> to = from;
    std::shuffle(from.begin(), from.end(), random);
    std::shuffle(to.begin(), to.end(), random);
    size_t count = 1;
    for (int32_t& size : sizes) count *= (size = static_cast<int32_t>(random() % 4));
    std::vector<uint16_t> source(count);
    std::vector<uint16_t> target(count, 0xffff);
    std::iota(source.begin(), source.end(), uint16_t{0});
    copy_to_dim_order(source.data(), from, target.data(), to, sizes, sizeof(uint16_t));
    for (size_t i = 0; i < count; ++i) {
      std::vector<size_t> index(rank);
      size_t rest = i;
      for (size_t d = rank; d-- > 0; rest /= sizes[d]) index[d] = rest % sizes[d];
      EXPECT_EQ(target[place(to, sizes, index)], source[place(from, sizes, index)]);
    }
  });
}

TEST(DimOrderCopy, NoOrderIsRowMajor) {
  const uint8_t a[] = {0, 1, 2};
  const uint8_t b[] = {0, 2, 1};
  EXPECT_TRUE(same_dim_order({}, {}, 3));
  EXPECT_TRUE(same_dim_order(a, {}, 3));
  EXPECT_FALSE(same_dim_order({}, b, 3));
  const int32_t sizes[] = {1, 2, 3};
  const uint8_t source[] = {0, 1, 2, 3, 4, 5};
  uint8_t target[6] = {};
  copy_to_dim_order(source, b, target, {}, sizes, 1);
  EXPECT_EQ(std::vector<uint8_t>(target, target + 6), (std::vector<uint8_t>{0, 2, 4, 1, 3, 5}));
}

}  // namespace
}  // namespace berth
