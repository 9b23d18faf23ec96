// Candidates: what may be taken together, and that taking them is worth it and never harmful.
#include "compiler/memory/packing/chosen_aliases.h"

#include <gtest/gtest.h>

#include <random>

#include "base/seeds_testing.h"
#include "compiler/memory/packing/bound.h"
#include "compiler/memory/packing/packing_testing.h"
#include "compiler/memory/packing/plan_best.h"
#include "compiler/memory/packing/validate.h"

namespace berth::packing {
namespace {

Plan planned(const Problem& p, Planner planner = Planner::kBest) {
  PlanOptions options;
  options.planner = planner;
  Expected<Plan> plan = plan_best(p, options);
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().text());
  const Status judged = validate(p, *plan);
  EXPECT_TRUE(judged.ok()) << (judged.ok() ? "" : judged.error().text());
  return std::move(plan).value();
}

/// The rule itself: buffers that are live at once share no byte, unless a taken candidate names both.
std::string overlap(const Problem& p, const Plan& plan) {
  for (size_t i = 0; i < p.buffers.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const Buffer& a = p.buffers[i];
      const Buffer& b = p.buffers[j];
      bool excused = false;
      for (size_t m = 0; m < p.candidates.size(); ++m) {
        const std::pair<size_t, size_t> ends{p.candidates[m].from, p.candidates[m].to};
        excused |= plan.taken[m] && (ends == std::make_pair(i, j) || ends == std::make_pair(j, i));
      }
      const bool in_time = a.lower < b.upper && b.lower < a.upper;
      const bool in_bytes = plan.offsets[i] < plan.offsets[j] + b.size && plan.offsets[j] < plan.offsets[i] + a.size;
      if (in_time && in_bytes && a.size > 0 && b.size > 0 && !excused) {
        return std::to_string(j) + " and " + std::to_string(i);
      }
    }
  }
  return "";
}

// Holds row 180.
TEST(ChosenAliases, AnInPlaceResultHasItsInputsOffsetAndCostsNothing) {
  Problem p;
  p.buffers = {buffer(100, 0, 3), buffer(100, 2, 5)};
  p.candidates = {candidate(1, 0)};
  const Plan plan = planned(p);
  EXPECT_TRUE(plan.taken[0]);
  EXPECT_EQ(plan.offsets[0], plan.offsets[1]);
  EXPECT_EQ(plan.spaces[0].height, 100);
  EXPECT_TRUE(plan.optimal());
}

// Holds row 181.
TEST(ChosenAliases, EveryPlannerTakesThemButNaive) {
  Problem p;
  p.buffers = {buffer(100, 0, 3), buffer(100, 2, 5)};
  p.candidates = {candidate(1, 0)};
  for (const Planner planner : {Planner::kGreedy, Planner::kBreadth, Planner::kBestFit}) {
    EXPECT_EQ(planned(p, planner).spaces[0].height, 100);
  }
  const Plan naive = planned(p, Planner::kNaive);
  EXPECT_EQ(naive.spaces[0].height, 200);
  EXPECT_EQ(naive.taken, std::vector<bool>{false});
}

// Holds row 182.
TEST(ChosenAliases, AnInPlaceChainIsOneBufferAndACycleIsRefused) {
  Problem p;
  for (int i = 0; i < 5; ++i) p.buffers.push_back(buffer(64, i, i + 2));
  for (int i = 1; i < 5; ++i) p.candidates.push_back(candidate(i, i - 1));
  EXPECT_EQ(planned(p).spaces[0].height, 64);
  p.candidates.push_back(candidate(0, 4, 8));  // would put the first 8 bytes above itself
  const Plan plan = planned(p);
  EXPECT_EQ(plan.spaces[0].height, 64);
  EXPECT_FALSE(plan.taken[4]);
}

TEST(ChosenAliases, TwoConsumersOfOneBufferDoNotBothTakeIt) {
  // x dies in step 2, in which y and z are made: both could take it, one does.
  Problem p;
  p.buffers = {buffer(10, 0, 3), buffer(10, 2, 6), buffer(10, 2, 6)};
  p.candidates = {candidate(1, 0), candidate(2, 0)};
  const Plan plan = planned(p);
  EXPECT_NE(plan.taken[0], plan.taken[1]);
  EXPECT_EQ(plan.spaces[0].height, 20);
  EXPECT_TRUE(plan.optimal());
}

TEST(ChosenAliases, OneOfTwoInputsIsChosenForThePeak) {
  // c may take a's place or b's. a lies in 8 bytes that d (8, alive with c) could otherwise not have: only one choice
  // is lowest, and it is not the first one offered.
  Problem p;
  p.buffers = {buffer(4, 0, 2), buffer(4, 0, 2), buffer(4, 1, 4), buffer(4, 2, 4)};
  p.buffers[0].fixed = 4;
  p.buffers[1].fixed = 0;
  p.buffers[3].fixed = 4;
  p.candidates = {candidate(2, 0), candidate(2, 1)};
  const Plan plan = planned(p);
  EXPECT_EQ(plan.spaces[0].height, 8);
  EXPECT_EQ(plan.taken, (std::vector<bool>{false, true}));
}

TEST(ChosenAliases, PartsLieInTheirSlotsAllOrNone) {
  // c = cat(a, b) of 30 and 50 bytes; a is made two steps earlier.
  Problem p;
  p.buffers = {buffer(30, 0, 4), buffer(50, 2, 4), buffer(80, 3, 6), buffer(50, 0, 2)};
  p.candidates = {candidate(0, 2, 0, 7), candidate(1, 2, 30, 7)};
  const Plan plan = planned(p);
  EXPECT_EQ(plan.taken, (std::vector<bool>{true, true}));
  EXPECT_EQ(plan.offsets[0], plan.offsets[2]);
  EXPECT_EQ(plan.offsets[1], plan.offsets[2] + 30);
  EXPECT_EQ(plan.spaces[0].height, 80);  // buffer 3 lies where b comes later
  // When one part cannot lie there, none does.
  p.candidates.push_back(candidate(1, 3, 8, 7));  // b and buffer 3 at a distance that contradicts nothing, but
  p.candidates.push_back(candidate(0, 3, 0, 7));  // a and 3 share their first bytes: fine together
  p.buffers.push_back(buffer(1, 0, 6));
  p.candidates.push_back(candidate(4, 2, 10, 7));  // and one that shares a byte with a without a candidate with it
  const Plan none = planned(p);
  EXPECT_EQ(none.taken, std::vector<bool>(5, false));
}

TEST(ChosenAliases, SixtyThousandPartsOfOneWholeTakeLinearTime) {
  constexpr int64_t kParts = 60'000;
  for (const bool overlapping : {false, true}) {
    Problem p;
    p.buffers.push_back(buffer(64 * kParts, 0, 2));
    for (int64_t i = 0; i < kParts; ++i) {
      p.buffers.push_back(buffer(64, 1, 3 + i % 5));
      // The last part lies on the one before it, which lives on: none is taken.
      const int64_t slot = overlapping && i + 1 == kParts ? i - 1 : i;
      p.candidates.push_back(candidate(static_cast<int32_t>(i) + 1, 0, 64 * slot, 0));
    }
    const Plan plan = planned(p);
    EXPECT_EQ(plan.taken[0], !overlapping);
    EXPECT_EQ(plan.spaces[0].height, 64 * kParts * (overlapping ? 2 : 1));
  }
}

TEST(ChosenAliases, SixtyThousandPartsDecidedOneByOneTakeLinearTime) {
  constexpr int64_t kParts = 60'000;
  Problem parts;
  parts.buffers.push_back(buffer(64 * kParts, 2, 9));
  Problem chain;
  chain.buffers.push_back(buffer(64, 0, 2));
  for (int64_t i = 0; i < kParts; ++i) {
    parts.buffers.push_back(buffer(64, 1, 3 + i % 5, 16));
    parts.candidates.push_back(candidate(static_cast<int32_t>(i) + 1, 0, 64 * i));
    chain.buffers.push_back(buffer(64, i + 1, i + 3));
    chain.candidates.push_back(candidate(static_cast<int32_t>(i) + 1, static_cast<int32_t>(i)));
  }
  EXPECT_EQ(planned(parts).spaces[0].height, 64 * kParts);
  EXPECT_EQ(planned(chain).spaces[0].height, 64);
}

/// What take() should say, by looking at everything: where each buffer lies against the first of its body, and every
/// pair of one body.
class ByTheRule {
 public:
  explicit ByTheRule(const Problem& problem) : problem_(problem), taken_(problem.candidates.size(), false) {}

  bool take(const CandidateGroup& group) {
    for (const int32_t id : group) taken_[id] = true;
    const bool fits = fits_all();
    for (const int32_t id : group) taken_[id] = fits;
    return fits;
  }

 private:
  bool fits_all() {
    const size_t n = problem_.buffers.size();
    root_.assign(n, 0);
    shift_.assign(n, 0);
    for (size_t i = 0; i < n; ++i) root_[i] = i;
    for (size_t m = 0; m < taken_.size(); ++m) {
      if (taken_[m] && !tie(problem_.candidates[m])) return false;
    }
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (root_[i] == root_[j] && collide(i, j)) return false;
      }
    }
    for (size_t i = 0; i < n; ++i) {
      if (root_[i] == i && !aligned(i)) return false;
    }
    return true;
  }

  bool tie(const Candidate& candidate) {
    const size_t from = candidate.from;
    const size_t to = candidate.to;
    const int64_t distance = shift_[to] + candidate.offset - shift_[from];
    if (root_[from] == root_[to]) return distance == 0;
    const size_t gone = root_[from];
    for (size_t i = 0; i < root_.size(); ++i) {
      if (root_[i] != gone) continue;
      root_[i] = root_[to];
      shift_[i] += distance;
    }
    return true;
  }

  bool collide(size_t i, size_t j) const {
    const Buffer& a = problem_.buffers[i];
    const Buffer& b = problem_.buffers[j];
    if (a.upper <= b.lower || b.upper <= a.lower || a.size == 0 || b.size == 0) return false;
    if (shift_[i] >= shift_[j] + b.size || shift_[j] >= shift_[i] + a.size) return false;
    for (size_t m = 0; m < taken_.size(); ++m) {
      const std::pair<size_t, size_t> ends{problem_.candidates[m].from, problem_.candidates[m].to};
      if (taken_[m] && (ends == std::make_pair(i, j) || ends == std::make_pair(j, i))) return false;
    }
    return true;
  }

  int64_t alignment(size_t i) const {
    int64_t moved = 0;
    for (size_t m = 0; m < taken_.size(); ++m) {
      const Candidate& candidate = problem_.candidates[m];
      if (!taken_[m] || static_cast<size_t>(candidate.from) != i) continue;
      moved = std::max(moved, candidate.alignment > 0 ? candidate.alignment : problem_.buffers[i].alignment);
    }
    return moved > 0 ? moved : problem_.buffers[i].alignment;
  }

  /// Whether some position suits all.
  bool aligned(size_t root) const {
    for (int64_t position = 1024; position < 1024 + 16; ++position) {
      bool suits = true;
      for (size_t i = 0; i < root_.size(); ++i) {
        suits = suits && (root_[i] != root || (position + shift_[i]) % alignment(i) == 0);
      }
      if (suits) return true;
    }
    return false;
  }

  const Problem& problem_;
  std::vector<bool> taken_;
  std::vector<size_t> root_;
  std::vector<int64_t> shift_;
};

TEST(ChosenAliases, OneCandidateIsTakenExactlyAsTheRuleSays) {
  const unsigned seed = berth::testing::new_seed();
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  int taken = 0;
  int left = 0;
  for (int round = 0; round < 60; ++round) {
    Problem p;
    const int count = 20 + static_cast<int>(random() % 60);
    for (int i = 0; i < count; ++i) {
      const int64_t lower = i + static_cast<int64_t>(random() % 3);
      const int64_t life = random() % 6 == 0 ? 1 + static_cast<int64_t>(random() % 20) : 1;
      p.buffers.push_back(
          buffer(static_cast<int64_t>(random() % 3) * 4, lower, lower + life, int64_t{1} << random() % 4));
    }
    for (int i = 1; i < count; ++i) {
      const int from = random() % 2 == 0 ? i - 1 : i;
      const int to = random() % 8 == 0 ? static_cast<int>(random() % static_cast<unsigned>(count)) : 2 * i - 1 - from;
      if (from == to) continue;
      Candidate m = candidate(from, to, random() % 3 == 0 ? static_cast<int64_t>(random() % 3) * 4 : 0);
      if (random() % 4 == 0) m.alignment = int64_t{1} << random() % 5;
      p.candidates.push_back(m);
    }
    std::shuffle(p.candidates.begin(), p.candidates.end(), random);
    ChosenAliases set(p);
    ByTheRule rule(p);
    for (int32_t id = 0; id < static_cast<int32_t>(p.candidates.size()); ++id) {
      const bool may = rule.take({id});
      ASSERT_EQ(set.take({id}), may) << "candidate " << id << " in round " << round;
      ++(may ? taken : left);
    }
  }
  EXPECT_GT(taken, 1000);
  EXPECT_GT(left, 300);
}

/// Concatenations that grow: each whole begins with the whole before it, and a new part follows; parts and wholes have
/// successors in place. Some live longer than they may.
Problem growing_problem(std::mt19937* random, std::vector<CandidateGroup>* groups) {
  const auto below = [&](int n) { return static_cast<int>((*random)() % static_cast<unsigned>(n)); };
  Problem p;
  const auto add = [&](int64_t size, int64_t lower, int64_t life) {
    p.buffers.push_back(buffer(size, lower, lower + life + (below(12) == 0 ? 1 + below(6) : 0), below(6) == 0 ? 8 : 4));
    return static_cast<int32_t>(p.buffers.size()) - 1;
  };
  const auto offer = [&](Candidate candidate) {
    if (below(4) == 0) candidate.alignment = int64_t{1} << below(5);
    p.candidates.push_back(candidate);
    return static_cast<int32_t>(p.candidates.size()) - 1;
  };
  const int count = 5 + below(30);
  int32_t whole = add(4, 0, 2);
  for (int i = 1; i < count; ++i) {
    const int64_t size = p.buffers[whole].size;
    const int64_t now = 2 * i;
    const int32_t part = add(4 * below(3), now - 1, 2);
    const int64_t part_size = p.buffers[part].size;
    const int32_t next = add(size + part_size, now, 2 + below(2));
    groups->push_back({offer(candidate(whole, next)), offer(candidate(part, next, below(20) == 0 ? 4 : size))});
    if (below(3) == 0) {
      const int32_t over = add(part_size, now, 1);
      groups->push_back({offer(candidate(over, part))});
    }
    if (below(4) == 0) {
      const int32_t over = add(size + part_size, now + 1, 1);
      groups->push_back({offer(candidate(over, next))});
    }
    whole = next;
  }
  return p;
}

TEST(ChosenAliases, SeveralCandidatesAreTakenExactlyAsTheRuleSays) {
  const unsigned seed = berth::testing::new_seed();
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  int taken = 0;
  int left = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<CandidateGroup> groups;
    const Problem p = growing_problem(&random, &groups);
    if (round % 2 == 0) std::shuffle(groups.begin(), groups.end(), random);
    ChosenAliases set(p);
    ByTheRule rule(p);
    for (const CandidateGroup& group : groups) {
      const bool may = rule.take(group);
      ASSERT_EQ(set.take(group), may) << "candidate " << group[0] << " in round " << round;
      ++(may ? taken : left);
    }
  }
  EXPECT_GT(taken, 300);
  EXPECT_GT(left, 100);
}

TEST(ChosenAliases, GrowingConcatenationsTakeLinearTime) {
  // A key-value cache of an unrolled decoder: comparing all buffers of the body for each part took time as the cube.
  constexpr int64_t kSteps = 6'000;
  Problem p;
  p.buffers.push_back(buffer(64, 0, 2));
  for (int64_t i = 1; i < kSteps; ++i) {
    p.buffers.push_back(buffer(64, 2 * i - 1, 2 * i + 1));
    p.buffers.push_back(buffer(64 * (i + 1), 2 * i, 2 * i + 3));
    const int32_t whole = static_cast<int32_t>(p.buffers.size()) - 1;
    p.candidates.push_back(candidate(i == 1 ? 0 : whole - 2, whole, 0, static_cast<int32_t>(i)));
    p.candidates.push_back(candidate(whole - 1, whole, 64 * i, static_cast<int32_t>(i)));
  }
  ChosenAliases set(p);
  int64_t taken = 0;
  for (const CandidateGroup& group : candidate_groups(p)) taken += set.take(group) ? 1 : 0;
  EXPECT_EQ(taken, kSteps - 1);
}

TEST(ChosenAliases, APartIsAlignedInItsSlot) {
  Problem p;
  p.buffers = {buffer(20, 0, 2, 16), buffer(20, 0, 2, 16), buffer(40, 1, 3, 16)};
  p.candidates = {candidate(0, 2, 0, 1), candidate(1, 2, 20, 1)};
  EXPECT_EQ(planned(p).taken, (std::vector<bool>{false, false}));  // 20 is not a multiple of 16
  p.candidates[1].alignment = 4;
  const Plan plan = planned(p);
  EXPECT_EQ(plan.taken, (std::vector<bool>{true, true}));
  EXPECT_EQ(plan.spaces[0].height, 40);
}

TEST(ChosenAliases, AConsumerThatWouldDestroyAPartIsNotTaken) {
  // a lies in c's first bytes; d = relu(a) in place would overwrite c while it is read.
  Problem p;
  p.buffers = {buffer(10, 0, 5), buffer(20, 2, 9), buffer(10, 4, 9)};
  p.candidates = {candidate(0, 1), candidate(2, 0)};
  const Plan plan = planned(p);
  EXPECT_NE(plan.taken[0], plan.taken[1]);
  EXPECT_EQ(overlap(p, plan), "");
}

/// Fuzz: random chains, joins and concatenations under every planner; never higher than without any candidate.
void plan_with_and_without(unsigned seed, int rounds) {
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < rounds; ++round) {
    Problem p;
    const int count = 2 + static_cast<int>(random() % 30);
    for (int i = 0; i < count; ++i) {
      const int64_t lower = static_cast<int64_t>(random() % 20);
      p.buffers.push_back(buffer(static_cast<int64_t>(random() % 40), lower,
                                 lower + 1 + static_cast<int64_t>(random() % 6), int64_t{1} << random() % 3));
    }
    for (auto k = random() % 40; k > 0; --k) {
      Candidate m = candidate(static_cast<int32_t>(random() % static_cast<unsigned>(count)),
                              static_cast<int32_t>(random() % static_cast<unsigned>(count)));
      if (m.from == m.to) continue;
      if (random() % 3 == 0) m.offset = static_cast<int64_t>(random() % 20);
      if (random() % 3 == 0) m.all_or_none = static_cast<int32_t>(random() % 5);
      if (random() % 5 == 0) m.alignment = 1;
      p.candidates.push_back(m);
    }
    Problem plain = p;
    plain.candidates.clear();
    for (const Planner planner :
         {Planner::kNaive, Planner::kGreedy, Planner::kBreadth, Planner::kBestFit, Planner::kBest}) {
      const Plan plan = planned(p, planner);
      EXPECT_EQ(overlap(p, plan), "");
      EXPECT_LE(plan.spaces[0].lower_bound, plan.spaces[0].height);
      EXPECT_LE(plan.spaces[0].height, planned(plain, planner).spaces[0].height);
    }
    ASSERT_FALSE(::testing::Test::HasFailure()) << "round " << round;
  }
}

// x lies within s or beside it, so that what is on top of both ends in y's rounding, 8 bytes, and not in x's 15.
TEST(ChosenAliases, TheBoundLeavesNoRoomForTheRoundingOfWhatLiesWithin) {
  Problem p;
  p.buffers = {{33, 16, 0, 2, 0, kAnywhere}, {64, 16, 1, 2, 0, kAnywhere}, {24, 16, 1, 3, 0, kAnywhere}};
  p.candidates = {{0, 1, 0, 0, kAlone}};
  EXPECT_EQ(lower_bound(p), 64 + 24);
  const Plan plan = planned(p, Planner::kBest);
  EXPECT_EQ(plan.spaces[0].height, 64 + 24);
  EXPECT_TRUE(plan.optimal()) << "without a search";
  p.candidates[0].offset = 48;
  EXPECT_EQ(lower_bound(p), 48 + 64 + 32 - 16 - 15) << "x may reach out of s, and be the topmost one";
}

TEST(ChosenAliases, TheBoundCountsThemAndIsNeverAboveAPlan) { plan_with_and_without(berth::testing::new_seed(), 100); }

// None was taken, and the search spent its nodes below what any plan without them needs.
TEST(ChosenAliases, UnusedCandidatesLeaveThePlanUnchanged) { plan_with_and_without(39449600, 23); }

TEST(ChosenAliases, EmptyBuffersLieWhereTheirCandidateSays) {
  Problem p;
  p.buffers = {buffer(0, 0, 3), buffer(0, 2, 5), buffer(8, 0, 5)};
  p.candidates = {candidate(0, 1, 16)};
  const Plan plan = planned(p);
  EXPECT_EQ(plan.taken, (std::vector<bool>{true}));
  EXPECT_EQ(plan.offsets[0], plan.offsets[1] + 16);
  EXPECT_EQ(plan.spaces[0].height, 8);
}

TEST(ChosenAliases, MalformedOnesAreRefusedWithTheirNumber) {
  Problem p;
  p.buffers = {buffer(4, 0, 2), buffer(4, 1, 3), buffer(4, 1, 3)};
  p.buffers[2].space = 1;
  p.spaces.resize(2);
  Candidate odd = candidate(0, 1);
  odd.alignment = 3;
  for (const Candidate& bad :
       {candidate(0, 3), candidate(-1, 0), candidate(1, 1), candidate(0, 2), candidate(0, 1, -1), odd}) {
    p.candidates = {candidate(0, 1), bad};
    const Expected<Plan> plan = plan_best(p);
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.error().code, Error::kInvalidArgument);
    EXPECT_EQ(plan.error().place, "candidate 1");
  }
}

}  // namespace
}  // namespace berth::packing
