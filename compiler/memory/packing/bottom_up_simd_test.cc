// The fast bottom-up placement against the plain one.
#include "compiler/memory/packing/bottom_up_simd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "compiler/memory/packing/bottom_up.h"
#include "compiler/memory/packing/validate.h"

namespace berth::packing {
namespace {

Problem random_problem(uint32_t seed, int64_t unit) {
  std::mt19937 random(seed);
  Problem problem;
  const size_t count = 1 + random() % 120;
  for (size_t i = 0; i < count; ++i) {
    Buffer buffer;
    buffer.alignment = unit << (random() % 4);
    buffer.size = unit * (1 + static_cast<int64_t>(random() % 40));
    buffer.lower = static_cast<int64_t>(random() % 50);
    buffer.upper = buffer.lower + 1 + static_cast<int64_t>(random() % 20);
    problem.buffers.push_back(buffer);
  }
  return problem;
}

std::vector<int32_t> random_order(uint32_t seed, size_t count) {
  std::mt19937 random(seed);
  std::vector<int32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

template <typename Height>
void expect_same_as_plain(int64_t unit) {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Problem problem = random_problem(seed, unit);
    const Layout layout = make_layout(problem);
    const std::optional<SearchProblem> searched = search_problem(layout, 1000);
    ASSERT_TRUE(searched.has_value());
    BottomUpSimd<Height> few(*searched, 0);
    for (uint32_t again = 0; again < 3; ++again) {  // what one call leaves behind must not matter to the next
      const std::vector<int32_t> order = random_order(seed + again, layout.bodies.size());
      const std::optional<Placement> plain = place_bottom_up(layout, order, kUnlimited, nullptr);
      ASSERT_TRUE(plain.has_value());
      std::vector<int64_t> offsets;
      ASSERT_TRUE(few.place(order, &offsets));
      for (size_t b = 0; b < offsets.size(); ++b) ASSERT_EQ(offsets[b] * searched->unit, plain->positions[b]) << b;
    }
  }
}

TEST(BottomUpSimd, MatchesThePlainOneInSixteenBits) { expect_same_as_plain<int16_t>(64); }
TEST(BottomUpSimd, MatchesThePlainOneInThirtyTwoBits) { expect_same_as_plain<int32_t>(1); }

TEST(BottomUpSimd, ADelayOnlyReordersAndNeverOverlaps) {
  int differ = 0;
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Problem problem = random_problem(seed, 16);
    const Layout layout = make_layout(problem);
    const std::optional<SearchProblem> searched = search_problem(layout, 1000);
    ASSERT_TRUE(searched.has_value());
    const std::vector<int32_t> order = random_order(seed, layout.bodies.size());
    Placement placement;
    std::vector<int64_t> plain;
    ASSERT_TRUE(BottomUpSimd<int32_t>(*searched, 0).place(order, &plain));
    ASSERT_TRUE(BottomUpSimd<int32_t>(*searched, 100).place(order, &placement.positions));
    differ += placement.positions != plain ? 1 : 0;
    for (int64_t& position : placement.positions) position *= searched->unit;
    placement.height = height_of(layout, placement.positions);
    Plan plan;
    plan.offsets = offsets_of(problem, layout, placement);
    plan.spaces = {{placement.height, 0}};
    const Status sound = validate(problem, plan);
    EXPECT_TRUE(sound.ok()) << sound.error().text();
  }
  EXPECT_GT(differ, 30);
}

TEST(BottomUpSimd, AnItemAboveTheHighestHeightIsRefusedNotWrapped) {
  Problem problem;
  for (int i = 0; i < 5; ++i) {
    Buffer buffer;
    buffer.size = 4001 + i;  // five of them end above 2^14
    buffer.upper = 2;
    problem.buffers.push_back(buffer);
  }
  const Layout layout = make_layout(problem);
  const std::optional<SearchProblem> searched = search_problem(layout, 1000);
  ASSERT_TRUE(searched.has_value());
  std::vector<int64_t> offsets;
  EXPECT_FALSE(BottomUpSimd<int16_t>(*searched, 0).place(random_order(1, 5), &offsets));
  EXPECT_TRUE(BottomUpSimd<int32_t>(*searched, 0).place(random_order(1, 5), &offsets));
}

}  // namespace
}  // namespace berth::packing
