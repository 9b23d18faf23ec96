// The judge must find what a planner could do wrong.
#include "compiler/plan/validate.h"

#include <gtest/gtest.h>

namespace berth::plan {
namespace {

struct Case {
  Problem problem;
  Plan plan;
};

/// Two storages of 8 bytes that are both alive in step 2, in 16 bytes; right as it stands.
Case two() {
  Case c;
  Storage a;
  a.size = 8;
  a.alignment = 4;
  a.lower = 0;
  a.upper = 3;
  Storage b = a;
  b.lower = 2;
  b.upper = 5;
  c.problem.storages = {a, b};
  c.plan.offsets = {0, 8};
  c.plan.spaces = {SpaceUse{16, 16}};
  return c;
}

std::string verdict(const Case& c) {
  const Status status = validate(c.problem, c.plan);
  return status.ok() ? "sound" : status.error().text();
}

TEST(ASoundPlanPasses, ByHand) { EXPECT_EQ(verdict(two()), "sound"); }

TEST(OverlapsAreFound, AndNamed) {
  Case c = two();
  c.plan.offsets = {0, 4};
  c.plan.spaces[0].height = 12;
  EXPECT_EQ(verdict(c), "storage 1: its bytes [4, 12) overlap the bytes [0, 8) of storage 0: both are alive in step 2");
  c.problem.storages[1].lower = 3;  // no longer alive together
  EXPECT_EQ(verdict(c), "sound");
}

TEST(OneByteInOneStepIsEnough, OnEitherSide) {
  for (const int64_t offset : {1, 15}) {
    Case c = two();
    c.problem.storages[0].alignment = c.problem.storages[1].alignment = 1;
    c.plan.offsets = {8, offset};
    c.plan.spaces[0].height = std::max<int64_t>(16, offset + 8);
    EXPECT_NE(verdict(c), "sound") << offset;
  }
}

TEST(AStorageInsideALargerOneIsFound, WhereverItLies) {
  for (const int64_t offset : {0, 40, 96}) {
    Case c = two();
    c.problem.storages[0].size = 100;
    c.problem.storages[1].size = 4;
    c.plan.offsets = {0, offset};
    c.plan.spaces[0].height = 100;
    EXPECT_NE(verdict(c), "sound") << offset;
  }
}

TEST(TwoSpacesDoNotOverlap, AtTheSameOffset) {
  Case c = two();
  c.problem.spaces.resize(2);
  c.problem.storages[1].space = 1;
  c.plan.offsets = {0, 0};
  c.plan.spaces = {SpaceUse{8, 8}, SpaceUse{8, 8}};
  EXPECT_EQ(verdict(c), "sound");
}

TEST(EveryOtherFaultIsFound, OneByOne) {
  Case c = two();
  c.plan.offsets[1] = 10;
  EXPECT_EQ(verdict(c), "storage 1: its offset 10 is no multiple of its alignment 4");
  c = two();
  c.plan.offsets[1] = -4;
  EXPECT_NE(verdict(c).find("negative"), std::string::npos);
  c = two();
  c.problem.storages[0].fixed = 8;
  EXPECT_EQ(verdict(c), "storage 0: it lies at 0 but is fixed at 8");
  c = two();
  c.plan.spaces[0].height = 20;
  EXPECT_EQ(verdict(c), "space 0: its storages take 16 bytes but the plan says 20");
  c = two();
  c.problem.spaces[0].capacity = 15;
  EXPECT_EQ(verdict(c), "space 0: its storages take 16 bytes, over its capacity of 15");
  c = two();
  c.plan.offsets.pop_back();
  EXPECT_NE(verdict(c), "sound");
  c = two();
  c.problem.storages[1].space = 3;
  EXPECT_NE(verdict(c), "sound");
  c = two();
  c.plan.offsets[0] = std::numeric_limits<int64_t>::max() - 3;
  EXPECT_NE(verdict(c), "sound");
}

}  // namespace
}  // namespace berth::plan
