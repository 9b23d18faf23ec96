#include "kernels/cpu/zeros.h"

#include <gtest/gtest.h>

#include <utility>

namespace berth::cpu {
namespace {

bool all_zero(const Zeros& zeros, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (zeros.data()[i] != 0) return false;
  }
  return true;
}

TEST(Zeros, TakeNoMemoryOfTheirOwnForOrdinaryPadding) {
  const Zeros few(64), row(3 * 2048);
  EXPECT_EQ(few.data(), row.data());
  EXPECT_TRUE(all_zero(row, 3 * 2048));
}

TEST(Zeros, AreAsManyAsAsked) {
  const int64_t count = 7 * 8192;
  const Zeros few(64), many(count);
  EXPECT_NE(few.data(), many.data());
  EXPECT_TRUE(all_zero(many, count));
}

TEST(Zeros, StayWhereTheyAreWhenTheirOwnerMoves) {
  Zeros many(7 * 8192);
  const float* const before = many.data();
  const Zeros moved = std::move(many);
  EXPECT_EQ(moved.data(), before);
}

}  // namespace
}  // namespace berth::cpu
