#include "backends/cuda/device/remembered.h"

#include <gtest/gtest.h>

namespace berth::cuda {
namespace {

struct Question {
  int64_t a;
  int64_t b;
};

// Far more questions than there is room for: some fall into the same slot.
TEST(Remembered, AnswersAreNotMixedUpHoweverManyQuestions) {
  Remembered<Question, int64_t> remembered;
  for (int64_t round = 0; round < 2; ++round) {
    for (int64_t a = 0; a < 100; ++a) {
      for (int64_t b = 0; b < 100; ++b) {
        EXPECT_EQ(remembered.find({a, b}, [&] { return a * 1000 + b; }), a * 1000 + b);
      }
    }
  }
}

TEST(Remembered, TheSameQuestionIsAskedOnce) {
  Remembered<Question, int64_t> remembered;
  int asked = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(remembered.find({1, 2}, [&] { return ++asked, 7; }), 7);
  }
  EXPECT_EQ(asked, 1);
}

// As many convolutions as a large model has, in run after run.
TEST(Remembered, ASecondRoundAsksNothing) {
  Remembered<Question, int64_t> remembered;
  int asked = 0;
  for (int round = 0; round < 3; ++round) {
    for (int64_t i = 0; i < 300; ++i) remembered.find({i, -i}, [&] { return int64_t{++asked}; });
  }
  EXPECT_EQ(asked, 300);
}

// The slots begin with zeros, which are a question like any other.
TEST(Remembered, NothingIsKnownBeforeTheFirstQuestion) {
  Remembered<Question, int64_t> remembered;
  EXPECT_EQ(remembered.find({0, 0}, [] { return 5; }), 5);
}

}  // namespace
}  // namespace berth::cuda
