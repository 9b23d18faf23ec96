#include "base/watch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/deadline.h"

namespace berth {
namespace {

int64_t stopped_clock() { return 0; }

TEST(Watch, TellsEachStep) {
  std::vector<std::string> steps;
  Watch watch([&](const std::string& step, double) {
    steps.push_back(step);
    return true;
  });
  watch.begin("one", 0);
  watch.begin("two", 0.5);
  EXPECT_FALSE(watch.ended());
  EXPECT_EQ(steps, (std::vector<std::string>{"one", "two"}));
}

TEST(Watch, StaysEndedWhateverTheFunctionSaysLater) {
  int calls = 0;
  Watch watch([&](const std::string&, double) { return ++calls != 2; });
  watch.begin("one", 0);
  EXPECT_FALSE(watch.ended());
  watch.begin("two", 0);
  EXPECT_TRUE(watch.ended());
  watch.begin("three", 0);
  EXPECT_TRUE(watch.ended());
  EXPECT_EQ(calls, 2);
}

TEST(Watch, AsksSeldomHoweverOftenItIsAsked) {
  int calls = 0;
  Watch watch([&](const std::string&, double) { return ++calls > 0; });
  for (int i = 0; i < 10000; ++i) EXPECT_FALSE(watch.ended());
  EXPECT_LT(calls, 1000);
}

TEST(Watch, WithoutAFunctionNothingEnds) {
  Watch watch(nullptr);
  watch.begin("one", 0);
  EXPECT_FALSE(watch.ended());
}

TEST(Watch, ADeadlineWithoutALimitPassesWhenTheWorkIsEnded) {
  Watch watch([](const std::string& step, double) { return step != "last"; });
  Deadline deadline;
  deadline.follow(&watch);
  watch.begin("first", 0);
  EXPECT_FALSE(deadline.passed());
  EXPECT_FALSE(deadline.passed_after(2 * Deadline::kSeldom));
  watch.begin("last", 0.9);
  EXPECT_TRUE(deadline.passed_after(2 * Deadline::kSeldom));
  EXPECT_TRUE(deadline.was_passed());
}

TEST(Watch, ADeadlineWithALimitPassesEither) {
  Watch watch([](const std::string& step, double) { return step != "last"; });
  Deadline deadline(1, stopped_clock);
  deadline.follow(&watch);
  EXPECT_FALSE(deadline.passed());
  watch.begin("last", 0.9);
  EXPECT_TRUE(deadline.passed());
}

}  // namespace
}  // namespace berth
