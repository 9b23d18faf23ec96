// The fears: an order that is not total among equal elements, pivots so bad that sorting takes forever, and memories
// that lie over one another, of which a loop reads past the end.
#include "kernels/portable/best_first.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "base/seeds_testing.h"

namespace berth::portable {
namespace {

// The indices of `values`, best first, as sort_slots() leaves them after at most `depth` divisions.
std::vector<int64_t> sorted(std::vector<uint32_t> values, int depth) {
  std::vector<int64_t> indices(values.size());
  std::iota(indices.begin(), indices.end(), int64_t{0});
  const std::vector<uint32_t> before = values;
  const auto count = static_cast<int64_t>(values.size());
  sort_slots(RankedSlots<uint32_t>{values.data(), 1, indices.data(), 1}, 0, count, depth);
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], before[static_cast<size_t>(indices[i])]);
  return indices;
}

std::vector<int64_t> expected(const std::vector<uint32_t>& values) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto value = [&](int64_t i) { return values[static_cast<size_t>(i)]; };
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return value(a) > value(b); });
  return order;
}

TEST(BestFirst, IsTheStableOrderAtEveryDepth) {
  const unsigned seed = testing::new_seed();
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    std::vector<uint32_t> values(random() % 400);
    const auto distinct = 1 + random() % 300;
    for (uint32_t& value : values) value = static_cast<uint32_t>(random() % distinct);
    if (round % 5 == 1) std::sort(values.begin(), values.end());
    if (round % 5 == 2) std::sort(values.rbegin(), values.rend());
    const int depth = static_cast<int>(random() % 20);
    ASSERT_EQ(sorted(values, depth), expected(values))
        << "BERTH_SEED=" << seed << ", round " << round << ", depth " << depth;
  }
}

// Values that change with each index that is stored over them: no order, but the bounds hold.
TEST(BestFirst, StaysInsideMemoriesThatOverlap) {
  const unsigned seed = testing::new_seed();
  std::mt19937 random(seed);
  constexpr int64_t kGuard = 0x5a5a5a5a5a5a5a5a;
  for (int round = 0; round < 300; ++round) {
    const auto count = static_cast<int64_t>(random() % 200);
    std::vector<int64_t> memory(static_cast<size_t>(count) + 2, kGuard);
    for (int64_t i = 0; i < count; ++i) memory[static_cast<size_t>(i) + 1] = static_cast<int64_t>(random() % 50) - 25;
    const RankedSlots<uint64_t> slots{memory.data() + 1, 1, memory.data() + count, -1};
    sort_slots(slots, count);
    EXPECT_EQ(memory.front(), kGuard) << "BERTH_SEED=" << seed << ", round " << round;
    EXPECT_EQ(memory.back(), kGuard) << "BERTH_SEED=" << seed << ", round " << round;
  }
}

}  // namespace
}  // namespace berth::portable
