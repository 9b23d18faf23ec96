#include "compiler/import/pte/memory_map.h"

#include <gtest/gtest.h>

namespace berth::pte {
namespace {

// The fear: a small write over a large one leaves nothing of the large one, or all of it.
TEST(MemoryMap, PartialWritesKeepTheRest) {
  MemoryMap map;
  map.write({1, 0, 100}, 7);
  map.write({1, 40, 60}, 8);
  EXPECT_EQ(map.find({1, 0, 40}), 7);
  EXPECT_EQ(map.find({1, 60, 100}), 7);
  EXPECT_EQ(map.find({1, 45, 50}), 8);
  EXPECT_EQ(map.find({1, 0, 100}), MemoryMap::kSeveral);
  EXPECT_EQ(map.find({1, 30, 50}), MemoryMap::kSeveral);
  const auto pieces = map.pieces({1, 10, 70});
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[0].second, 7);
  EXPECT_EQ(pieces[0].first.begin, 10u);
  EXPECT_EQ(pieces[1].second, 8);
  EXPECT_EQ(pieces[2].second, 7);
  EXPECT_EQ(pieces[2].first.end, 70u);
}

TEST(MemoryMap, APartialWriteIsNotAWholeValue) {
  MemoryMap map;
  map.write({1, 16, 32}, 0);
  EXPECT_EQ(map.find({1, 0, 16}), MemoryMap::kNothing);
  EXPECT_EQ(map.find({1, 32, 48}), MemoryMap::kNothing);
  EXPECT_EQ(map.find({1, 0, 32}), MemoryMap::kSeveral);
  EXPECT_TRUE(map.pieces({1, 0, 32}).empty());
  EXPECT_TRUE(map.pieces({1, 20, 40}).empty());
}

TEST(MemoryMap, SpacesAreSeparate) {
  MemoryMap map;
  map.write({1, 0, 16}, 0);
  map.write({2, 0, 16}, 1);
  EXPECT_EQ(map.find({1, 0, 16}), 0);
  EXPECT_EQ(map.find({2, 0, 16}), 1);
  EXPECT_EQ(map.find({3, 0, 16}), MemoryMap::kNothing);
}

TEST(MemoryMap, LaterWritesCoverEarlierOnes) {
  MemoryMap map;
  map.write({1, 0, 16}, 0);
  map.write({1, 16, 32}, 1);
  map.write({1, 8, 24}, 2);
  map.write({1, 0, 32}, 3);
  EXPECT_EQ(map.find({1, 0, 32}), 3);
}

}  // namespace
}  // namespace berth::pte
