// Shares of work. The fears: an item without parts, a thread that waits for another, and more items than are wanted.
#include "kernels/cpu/even_share.h"

#include <gtest/gtest.h>

namespace berth::cpu {
namespace {

TEST(EvenShare, ThreadsAreDoneAtTheSameTime) {
  // Sixteen in six items would be three for one thread, five of them with three parts: nine parts after each other.
  EXPECT_EQ(parts_of_item(16, 1, 2, 6, 12), 2);
  EXPECT_EQ(parts_of_item(16, 1, 2, 4, 12), 4);
  EXPECT_EQ(parts_of_item(16, 1, 1, 1, 1), 16);
  EXPECT_EQ(parts_of_item(3, 7, 4, 1, 2), 3);
  EXPECT_EQ(parts_of_item(1, 1, 8, 16, 32), 1);
}

TEST(EvenShare, ItemsAreAsManyAsIsSaidAndNeverEmpty) {
  for (int64_t parts = 1; parts < 40; ++parts) {
    for (int64_t others = 1; others < 5; ++others) {
      for (int slots = 1; slots < 6; ++slots) {
        for (int64_t least = 1; least < 9; ++least) {
          const int64_t own = parts_of_item(parts, others, slots, least, 2 * least);
          ASSERT_GE(own, 1);
          ASSERT_LE(own, ceil_div(parts, std::min(least, parts)));
          ASSERT_LE(ceil_div(parts, own), 2 * least);
        }
      }
    }
  }
}

}  // namespace
}  // namespace berth::cpu
