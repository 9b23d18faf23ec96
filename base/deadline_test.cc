#include "base/deadline.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

int64_t now = 0;
int looks = 0;
int64_t test_clock() {
  ++looks;
  return now;
}

Deadline in_a_second() {
  now = 5'000'000'000;
  Deadline deadline(1, test_clock);
  looks = 0;
  return deadline;
}

TEST(Deadline, WithoutALimitNeverPasses) {
  Deadline never;
  EXPECT_FALSE(never.passed());
  EXPECT_FALSE(never.passed_after(int64_t{1} << 60));
  EXPECT_FALSE(never.passes_within(int64_t{1} << 60));
}

TEST(Deadline, PassesAtItsMomentAndStaysPassed) {
  Deadline deadline = in_a_second();
  now += 999'999'999;
  EXPECT_FALSE(deadline.passed());
  now += 1;
  EXPECT_TRUE(deadline.passed());
  now -= 1'000'000'000;
  EXPECT_TRUE(deadline.passed());
}

TEST(Deadline, RarelyReadsTheClockInInnermostLoops) {
  Deadline deadline = in_a_second();
  for (int i = 0; i < 999; ++i) EXPECT_FALSE(deadline.passed_after(Deadline::kSeldom / 1000));
  EXPECT_EQ(looks, 0);
  EXPECT_FALSE(deadline.passed_after(Deadline::kSeldom / 1000));
  EXPECT_EQ(looks, 1);
  now += 1'000'000'000;
  EXPECT_FALSE(deadline.passed_after(1));
  EXPECT_TRUE(deadline.passed_after(Deadline::kSeldom));
  EXPECT_EQ(looks, 2);
  EXPECT_TRUE(deadline.passed_after(1));
  EXPECT_EQ(looks, 2);
}

TEST(Deadline, EndsBeforeAStepThatWouldOverrun) {
  Deadline deadline = in_a_second();
  now += 600'000'000;
  EXPECT_FALSE(deadline.passes_within(300'000'000));
  EXPECT_TRUE(deadline.passes_within(400'000'000));
  EXPECT_TRUE(deadline.passed());
}

TEST(Deadline, TakesHugeAndNegativeSeconds) {
  now = 0;
  EXPECT_FALSE(Deadline(1e300, test_clock).passed());
  EXPECT_TRUE(Deadline(-1, test_clock).passed());
}

}  // namespace
}  // namespace berth
