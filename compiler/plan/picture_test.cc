#include "compiler/plan/picture.h"

#include <gtest/gtest.h>

#include "compiler/plan/testing.h"

namespace berth::plan {
namespace {

TEST(ThePictureShowsWhoLiesWhere, DrawnByHand) {
  Problem problem;
  problem.storages = {storage(2, 0, 2), storage(2, 1, 4), storage(2, 3, 6)};
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

TEST(ThePictureStaysSmall, ForLargePlans) {
  Problem problem;
  Plan plan;
  for (int64_t i = 0; i < 1000; ++i) {
    problem.storages.push_back(storage(1 << 20, 100 * i, 100 * i + 150));
    plan.offsets.push_back((i % 2) << 20);
  }
  plan.spaces = {SpaceUse{2 << 20, 2 << 20}};
  const std::string drawn = picture(problem, plan, 0, {40, 10});
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), '\n'), 11);
  EXPECT_LT(drawn.size(), 11u * 60);
  EXPECT_EQ(picture(Problem{}, plan, 0), "(nothing to draw)\n");
}

}  // namespace
}  // namespace berth::plan
