// Sections must stand for steps: two buffers meet in sections exactly when they meet in steps.
#include "compiler/memory/packing/layout.h"

#include <gtest/gtest.h>

#include <random>

#include "base/seeds_testing.h"
#include "compiler/memory/packing/load.h"
#include "compiler/memory/packing/packing_testing.h"

namespace berth::packing {
namespace {

TEST(Layout, SectionsMeetExactlyWhereStepsDo) {
  const unsigned seed = berth::testing::new_seed();
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    // Far steps are numbered by sorting, near ones by a table.
    const int64_t scale = round % 2 == 0 ? 1 : int64_t{1} << 55;
    Problem p;
    for (int i = 0; i < 30; ++i) {
      const int64_t lower = static_cast<int64_t>(random() % 40) - 20;
      p.buffers.push_back(buffer(1 + static_cast<int64_t>(random() % 9), lower * scale,
                                 (lower + 1 + static_cast<int64_t>(random() % 10)) * scale));
    }
    const Layout layout = make_layout(p);
    for (size_t i = 0; i < p.buffers.size(); ++i) {
      for (size_t j = 0; j < p.buffers.size(); ++j) {
        const Buffer& a = p.buffers[i];
        const Buffer& b = p.buffers[j];
        const Piece& x = layout.pieces[i];
        const Piece& y = layout.pieces[j];
        EXPECT_EQ(a.lower < b.upper && b.lower < a.upper, x.lower < y.upper && y.lower < x.upper);
      }
    }
    for (const int64_t load : section_loads(layout)) EXPECT_GT(load, 0);  // no section is empty
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
}

TEST(Layout, AnInPlaceChainIsOnePieceAndASlotIsCutWhereItsWholeLives) {
  Problem p;
  p.buffers = {buffer(8, 0, 3), buffer(8, 2, 5), buffer(20, 4, 9)};
  Candidate chain;
  chain.from = 1;
  chain.to = 0;
  Candidate slot;
  slot.from = 1;
  slot.to = 2;
  slot.offset = 12;
  p.candidates = {chain, slot};
  ChosenAliases set(p);
  ASSERT_TRUE(set.take({0}));
  EXPECT_EQ(make_layout(p, &set).pieces.size(), 2u);  // the chain, and buffer 2
  ASSERT_TRUE(set.take({1}));
  const Layout layout = make_layout(p, &set);
  ASSERT_EQ(layout.bodies.size(), 1u);
  ASSERT_EQ(layout.pieces.size(), 2u);  // 20 bytes in [4, 9) and 8 bytes before
  EXPECT_EQ(section_loads(layout).front(), 8);
  EXPECT_EQ(section_loads(layout).back(), 20);
  EXPECT_EQ(in_bounding_boxes(layout).pieces.size(), 1u);
  EXPECT_EQ(in_bounding_boxes(layout).pieces[0].size, 20);
}

}  // namespace
}  // namespace berth::packing
