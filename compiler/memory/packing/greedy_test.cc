// Placing one by one, held to a version that tries every offset, byte by byte.
#include "compiler/memory/packing/greedy.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "base/math.h"
#include "base/seeds_testing.h"
#include "compiler/memory/packing/packing_testing.h"
#include "compiler/memory/packing/placed_by_offset.h"

namespace berth::packing {
namespace {

bool meet(const Piece& a, const Piece& b) { return a.lower < b.upper && b.lower < a.upper; }

/// Whether `body` may lie at `position` beside those that are placed.
bool is_free(const Layout& layout, const std::vector<int32_t>& placed, const Placement& placement, const Body& body,
             int64_t position) {
  for (const int32_t id : placed) {
    const Body& other = layout.bodies[id];
    for (int32_t p = body.begin; p < body.end; ++p) {
      for (int32_t q = other.begin; q < other.end; ++q) {
        const Piece& a = layout.pieces[p];
        const Piece& b = layout.pieces[q];
        const int64_t at_a = position + a.shift;
        const int64_t at_b = placement.positions[id] + b.shift;
        if (meet(a, b) && at_a < at_b + b.size && at_b < at_a + a.size) return false;
      }
    }
  }
  return true;
}

/// Goes through all offsets: runs of free ones are the holes, the last of which has no end.
int64_t find_slowly(const Layout& layout, const std::vector<int32_t>& placed, const Placement& placement,
                    const Body& body, Fit fit, int64_t top) {
  int64_t best = kAnywhere;
  int64_t best_rest = kMaxBytes;
  int64_t begin = body.lowest;
  for (int64_t at = body.lowest; at <= top; ++at) {
    if (is_free(layout, placed, placement, body, at)) continue;
    const int64_t position = align_up(begin, body.alignment);
    const int64_t rest = at - 1 - begin;
    if (position < at && rest < best_rest && (fit == Fit::kBest || best == kAnywhere)) {
      best = position;
      best_rest = rest;
    }
    begin = at + 1;
  }
  return best != kAnywhere ? best : align_up(begin, body.alignment);
}

Placement place_slowly(const Layout& layout, const std::vector<int32_t>& order, Fit fit, int64_t top) {
  Placement placement;
  placement.positions.assign(layout.bodies.size(), 0);
  std::vector<int32_t> placed;
  for (const int32_t id : order) {
    const Body& body = layout.bodies[id];
    int64_t& position = placement.positions[id];
    position = body.fixed != kAnywhere ? body.fixed : find_slowly(layout, placed, placement, body, fit, top);
    placed.push_back(id);
  }
  placement.height = height_of(layout, placement.positions);
  return placement;
}

/// Bodies of one to three pieces; `life` sections at most, of 40.
Layout random_layout(std::mt19937* random, int32_t life) {
  const auto below = [&](int32_t n) { return static_cast<int32_t>((*random)() % static_cast<uint32_t>(n)); };
  Layout layout;
  layout.sections = 40;
  const int32_t bodies = 1 + below(25);
  const bool several = below(2) == 0;
  for (int32_t b = 0; b < bodies; ++b) {
    Body body;
    body.alignment = int64_t{1} << below(4);
    body.lowest = below(4) == 0 ? 8 : 0;
    body.begin = static_cast<int32_t>(layout.pieces.size());
    const int32_t pieces = several ? 1 + below(3) : 1;
    int64_t shift = several && body.lowest > 0 ? -below(9) : 0;
    for (int32_t p = 0; p < pieces; ++p) {
      Piece piece;
      const int32_t steps = 1 + below(life);
      piece.lower = below(layout.sections - steps + 1);
      piece.upper = piece.lower + steps;
      piece.shift = shift;
      piece.size = 1 + below(20);
      shift += piece.size;
      layout.pieces.push_back(piece);
    }
    body.end = static_cast<int32_t>(layout.pieces.size());
    layout.bodies.push_back(body);
  }
  // One that is fixed goes first.
  if (below(3) == 0) layout.bodies[0].fixed = 8 * below(5) + 8;
  return layout;
}

TEST(Greedy, MatchesTryingEveryOffset) {
  const unsigned seed = berth::testing::new_seed();
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  int by_offset = 0;
  int by_life = 0;
  for (int round = 0; round < 400; ++round) {
    const Layout layout = random_layout(&random, round % 2 == 0 ? 3 : 40);
    (PlacedByOffset::is_faster(layout) ? by_offset : by_life) += 1;
    std::vector<int32_t> order(layout.bodies.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin() + 1, order.end(), random);
    int64_t top = 64;
    for (const Piece& piece : layout.pieces) top += 2 * piece.size + 16;
    for (const Fit fit : {Fit::kFirst, Fit::kBest}) {
      const Placement slow = place_slowly(layout, order, fit, top);
      const std::optional<Placement> quick = place_in_order(layout, order, fit, kUnlimited, nullptr);
      ASSERT_TRUE(quick.has_value()) << "round " << round;
      ASSERT_EQ(quick->positions, slow.positions) << "round " << round;
      EXPECT_EQ(quick->height, slow.height) << "round " << round;
    }
  }
  EXPECT_GT(by_offset, 40);
  EXPECT_GT(by_life, 40);
}

TEST(Greedy, AThousandLiveAtOnceAreNotSortedForEach) {
  Layout layout;
  layout.sections = 2;
  for (int32_t i = 0; i < 1000; ++i) {
    Body body;
    body.begin = i;
    body.end = i + 1;
    layout.bodies.push_back(body);
    layout.pieces.push_back({0, 1 + i % 2, 0, 1, 1});
  }
  EXPECT_TRUE(PlacedByOffset::is_faster(layout));
  // Of which few are live at once, it is the other way round.
  layout.sections = 1001;
  for (int32_t i = 0; i < 1000; ++i) {
    layout.pieces[i].lower = i;
    layout.pieces[i].upper = i + 2;
  }
  EXPECT_FALSE(PlacedByOffset::is_faster(layout));
  EXPECT_FALSE(PlacedByOffset::is_faster(Layout()));
}

TEST(Greedy, ABodyOfAThousandPiecesIsPlacedOnce) {
  // They are all live at once, beside as many bodies that meet none but each its neighbour.
  Layout layout;
  layout.sections = 2001;
  for (int32_t i = 0; i < 1000; ++i) layout.pieces.push_back({0, 1000 + i % 2, i, 1, 1000});
  Body body;
  body.end = 1000;
  layout.bodies.push_back(body);
  for (int32_t i = 1000; i < 2000; ++i) {
    body.begin = i;
    body.end = i + 1;
    layout.bodies.push_back(body);
    layout.pieces.push_back({i + 1, i + 2, 0, 1, 1});
  }
  EXPECT_FALSE(PlacedByOffset::is_faster(layout));
}

}  // namespace
}  // namespace berth::packing
