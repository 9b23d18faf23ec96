#include "compiler/memory/packing/picture.h"

#include <gtest/gtest.h>

#include <limits>

#include "compiler/memory/packing/packing_testing.h"

namespace berth::packing {
namespace {

TEST(Picture, ShowsWhichBufferLiesWhere) {
  Problem problem;
  problem.buffers = {buffer(2, 0, 2), buffer(2, 1, 4), buffer(2, 3, 6)};
  Plan plan;
  plan.offsets = {0, 2, 0};
  plan.spaces = {SpaceUse{4, 4}};
  EXPECT_EQ(picture(problem, plan, 0),
            "3 |.bbb..\n"
            "2 |.bbb..\n"
            "1 |aa.ccc\n"
            "0 |aa.ccc\n"
            "   0    6\n");
}

TEST(Picture, StaysSmallForLargePlans) {
  Problem problem;
  Plan plan;
  for (int64_t i = 0; i < 1000; ++i) {
    problem.buffers.push_back(buffer(1 << 20, 100 * i, 100 * i + 150));
    plan.offsets.push_back((i % 2) << 20);
  }
  plan.spaces = {SpaceUse{2 << 20, 2 << 20}};
  const std::string drawn = picture(problem, plan, 0, {40, 10});
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), '\n'), 11);
  EXPECT_LT(drawn.size(), 11u * 60);
  EXPECT_EQ(picture(Problem{}, plan, 0), "(nothing to draw)\n");
}

TEST(Picture, StaysSmallForTheLongestLiveRanges) {
  constexpr int64_t kFirst = std::numeric_limits<int64_t>::min();
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  Problem problem;
  problem.buffers = {buffer(1, kFirst, 0), buffer(1, 0, kLast)};
  Plan plan;
  plan.offsets = {0, 1};
  plan.spaces = {SpaceUse{2, 2}};
  EXPECT_EQ(picture(problem, plan, 0, {4, 2}),
            "1 |..bb\n"
            "0 |aa..\n"
            "   -9223372036854775808 9223372036854775807\n");
  problem.buffers = {buffer(1, kLast - 1, kLast)};
  plan.offsets = {0};
  plan.spaces = {SpaceUse{1, 1}};
  EXPECT_EQ(picture(problem, plan, 0), "0 |a\n   9223372036854775806 9223372036854775807\n");
}

}  // namespace
}  // namespace berth::packing
