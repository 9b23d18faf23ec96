// The exact search against exhaustion, and on problems whose answer was planted.
#include "compiler/memory/packing/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/seeds_testing.h"
#include "compiler/memory/packing/bound.h"
#include "compiler/memory/packing/generators.h"
#include "compiler/memory/packing/plan_best.h"
#include "compiler/memory/packing/search_ranks.h"
#include "compiler/memory/packing/validate.h"

namespace berth::packing {
namespace {

/// The lowest height of all placements, by the definition alone: in some order each buffer lies as low as those before
/// it let it.
int64_t height_by_exhaustion(const Problem& p) {
  std::vector<size_t> order(p.buffers.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  int64_t least = kMaxBytes;
  do {
    std::vector<int64_t> offsets(order.size(), 0);
    int64_t height = 0;
    for (size_t k = 0; k < order.size(); ++k) {
      const Buffer& s = p.buffers[order[k]];
      int64_t& mine = offsets[order[k]];
      for (bool moved = true; moved;) {
        moved = false;
        for (size_t j = 0; j < k; ++j) {
          const Buffer& t = p.buffers[order[j]];
          const int64_t other = offsets[order[j]];
          if (s.lower >= t.upper || t.lower >= s.upper || mine >= other + t.size || other >= mine + s.size) continue;
          mine = (other + t.size + s.alignment - 1) / s.alignment * s.alignment;
          moved = true;
        }
      }
      height = std::max(height, mine + s.size);
    }
    least = std::min(least, height);
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

constexpr SearchOptions kAll[] = {
    {Ranking::kWAT, false, false, 0, 1'000'000}, {Ranking::kTAW, false, true, 0, 1'000'000},
    {Ranking::kTWA, true, true, 0, 1'000'000},   {Ranking::kWAT, true, false, 7, 1'000'000},
    {Ranking::kTWA, false, true, 3, 1'000'000},
};

Verdict verdict_at(const Problem& p, int64_t capacity, const SearchOptions& options) {
  const Layout layout = make_layout(p);
  const std::optional<SearchProblem> searched = search_problem(layout, 100);
  EXPECT_TRUE(searched.has_value());
  EXPECT_EQ(searched->unit, 1);
  const SearchResult result = search(*searched, capacity, options);
  if (result.verdict == Verdict::kFound) {
    Plan plan;
    plan.offsets = result.offsets;
    plan.spaces.resize(1);
    for (size_t i = 0; i < plan.offsets.size(); ++i) {
      plan.spaces[0].height = std::max(plan.spaces[0].height, plan.offsets[i] + p.buffers[i].size);
    }
    EXPECT_LE(plan.spaces[0].height, capacity);
    const Status judged = validate(p, plan);
    EXPECT_TRUE(judged.ok()) << judged.error().text();
  }
  return result.verdict;
}

TEST(Search, ASearchToItsEndProvesTheOptimum) {
  // Long lives in few sections, nearly flat on top: of these some have an optimum above their load.
  const unsigned seed = berth::testing::new_seed();
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  const auto below = [&](int64_t count) { return static_cast<int64_t>(random()) % count; };
  int above_load = 0;
  for (int round = 0; round < 200; ++round) {
    Problem p;
    const bool aligned = round % 4 == 0;
    for (int64_t i = 5 + below(3); i > 0; --i) {
      Buffer s;
      s.size = 1 + below(5);
      if (aligned) s.alignment = int64_t{1} << below(3);
      s.lower = below(6);
      s.upper = s.lower + 1 + below(5);
      p.buffers.push_back(s);
    }
    p.buffers[0].size = 1;  // so that the unit is one byte
    const int64_t optimum = height_by_exhaustion(p);
    if (optimum > lower_bound(p)) ++above_load;
    for (const SearchOptions& options : kAll) {
      EXPECT_EQ(verdict_at(p, optimum, options), Verdict::kFound);
      EXPECT_EQ(verdict_at(p, optimum - 1, options), Verdict::kImpossible);
      EXPECT_EQ(verdict_at(p, optimum + 3, options), Verdict::kFound);
    }
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
  EXPECT_GT(above_load, 0);
}

TEST(Search, HeightsOfAnyWidthGiveTheSameVerdict) {
  // 16, 32 and 64 bits: the same problem, with sizes that only differ by a factor and one byte that keeps the unit.
  for (const int64_t factor : {int64_t{1}, int64_t{1} << 10, int64_t{1} << 22, int64_t{1} << 40}) {
    Planted planted = planted_problem(3, 30, 0);
    for (Buffer& s : planted.problem.buffers) s.size *= factor;
    Buffer alone;
    alone.size = 1;
    alone.lower = 1000;
    alone.upper = 1001;
    planted.problem.buffers.push_back(alone);
    const int64_t height = planted.height * factor;
    SearchOptions options = kAll[2];
    EXPECT_EQ(verdict_at(planted.problem, height, options), Verdict::kFound) << factor;
    EXPECT_EQ(verdict_at(planted.problem, height - 1, options), Verdict::kImpossible) << factor;
  }
}

TEST(Search, AnAreaBeyond64BitsIsTheLargest) {
  SearchProblem problem;
  problem.sections = 1;
  problem.bodies = {{0, 1, int64_t{1} << 20, 1, 4, -1}, {0, 1, int64_t{1} << 34, 1, int64_t{1} << 30, -1}};
  SearchOptions options;
  options.ranking = Ranking::kTAW;
  options.by_steps = true;
  int32_t ids[] = {0, 1};
  Ranks(problem, options).sort_all(ids, 2);
  EXPECT_EQ(ids[0], 1);
}

TEST(Search, TheLimitIsKeptAndReported) {
  const Planted planted = planted_problem(1, 320, 0);
  const Layout layout = make_layout(planted.problem);
  const std::optional<SearchProblem> searched = search_problem(layout, 1000);
  EXPECT_TRUE(searched.has_value());
  SearchOptions options;
  options.nodes = 100;
  const SearchResult result = search(*searched, planted.height / searched->unit, options);
  EXPECT_EQ(result.verdict, Verdict::kUnknown);
  EXPECT_EQ(result.nodes, 100);
}

TEST(Search, PlantedProblemsHaveTheirHeight) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Planted planted = planted_problem(seed, 100, 0);
    EXPECT_EQ(planted.problem.buffers.size(), 100u);
    EXPECT_EQ(lower_bound(planted.problem), planted.height);
    int64_t area = 0;
    for (const Buffer& s : planted.problem.buffers) area += s.size * (s.upper - s.lower);
    EXPECT_EQ(area, 100 * planted.height);  // no byte of no step is free
    EXPECT_LE(lower_bound(planted_problem(seed, 100, 5).problem), planted.height);
  }
}

TEST(Search, MostPlantedProblemsAreSolved) {
  // How many of ten seeds each fit below the planted height: a floor under what was measured when this was written.
  const struct {
    int32_t pieces;
    int32_t slack;
    int expected;
  } kCases[] = {{40, 0, 10}, {40, 1, 10}, {40, 5, 10}, {80, 1, 9}, {80, 5, 9}};
  for (const auto& [pieces, slack, expected] : kCases) {
    int solved = 0;
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      Planted planted = planted_problem(seed, pieces, slack);
      planted.problem.spaces[0].capacity = planted.height;
      PlanOptions options;
      options.nodes = 100'000;
      options.stop_at_capacity = true;
      const Expected<Plan> plan = plan_best(planted.problem, options);
      if (!plan.ok()) continue;
      ++solved;
      EXPECT_TRUE(validate(planted.problem, *plan).ok());
    }
    EXPECT_GE(solved, expected) << pieces << " pieces, slack " << slack << " %";
  }
}

}  // namespace
}  // namespace berth::packing
