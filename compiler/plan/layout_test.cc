// Sections must stand for steps: two storages meet in sections exactly when they meet in steps.
#include "compiler/plan/layout.h"

#include <gtest/gtest.h>

#include <random>

#include "compiler/plan/load.h"
#include "compiler/plan/testing.h"

namespace berth::plan {
namespace {

TEST(SectionsKeepWhoMeetsWhom, NearAndFarSteps) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    // Far steps are numbered by sorting, near ones by a table.
    const int64_t scale = round % 2 == 0 ? 1 : int64_t{1} << 55;
    Problem p;
    for (int i = 0; i < 30; ++i) {
      const int64_t lower = static_cast<int64_t>(random() % 40) - 20;
      p.storages.push_back(storage(1 + static_cast<int64_t>(random() % 9), lower * scale,
                                   (lower + 1 + static_cast<int64_t>(random() % 10)) * scale));
    }
    const Layout layout = make_layout(p);
    for (size_t i = 0; i < p.storages.size(); ++i) {
      for (size_t j = 0; j < p.storages.size(); ++j) {
        const Storage& a = p.storages[i];
        const Storage& b = p.storages[j];
        const Piece& x = layout.pieces[i];
        const Piece& y = layout.pieces[j];
        EXPECT_EQ(a.lower < b.upper && b.lower < a.upper, x.lower < y.upper && y.lower < x.upper);
      }
    }
    for (const int64_t load : section_loads(layout)) EXPECT_GT(load, 0);  // no section is empty
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
}

TEST(AChainInPlaceIsOnePiece, AndASlotIsCutWhereItsWholeLives) {
  Problem p;
  p.storages = {storage(8, 0, 3), storage(8, 2, 5), storage(20, 4, 9)};
  Merge chain;
  chain.from = 1;
  chain.to = 0;
  Merge slot;
  slot.from = 1;
  slot.to = 2;
  slot.offset = 12;
  p.merges = {chain, slot};
  MergeSet set(p);
  ASSERT_TRUE(set.take({0}));
  EXPECT_EQ(make_layout(p, &set).pieces.size(), 2u);  // the chain, and storage 2
  ASSERT_TRUE(set.take({1}));
  const Layout layout = make_layout(p, &set);
  ASSERT_EQ(layout.bodies.size(), 1u);
  ASSERT_EQ(layout.pieces.size(), 2u);  // 20 bytes in [4, 9) and 8 bytes before
  EXPECT_EQ(section_loads(layout).front(), 8);
  EXPECT_EQ(section_loads(layout).back(), 20);
  EXPECT_EQ(boxed(layout).pieces.size(), 1u);
  EXPECT_EQ(boxed(layout).pieces[0].size, 20);
}

}  // namespace
}  // namespace berth::plan
