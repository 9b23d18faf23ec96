#include "compiler/memory/scheduling/every_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>

#include "base/seeds_testing.h"

namespace berth::scheduling {
namespace {

std::vector<int32_t> all_tasks(const Problem& problem) {
  std::vector<int32_t> tasks(problem.tasks);
  std::iota(tasks.begin(), tasks.end(), 0);
  return tasks;
}

/// The most that every schedule is found to need.
int64_t needed(const Problem& problem, const std::vector<Containment>& parts = {}) {
  int64_t bytes = 0;
  while (every_schedule_needs(problem, parts, all_tasks(problem), bytes + 1)) ++bytes;
  return bytes;
}

// 0: x = …   1: q, k, v = split(x)   2: s = f(q, k)   3: w = g(v)   4: y = h(s, w)
Problem attention() {
  Problem problem;
  problem.tasks = 5;
  problem.buffers = {{30, 0, {1}, false}, {10, 1, {2}, false}, {10, 1, {2}, false}, {10, 1, {3}, false},
                     {50, 2, {4}, false}, {10, 3, {4}, false}, {1, 4, {}, true}};
  return problem;
}

TEST(EverySchedule, KeepsWhatIsLiveBetweenTwoTasks) {
  // While s is made: q, k, s, and v or w.
  EXPECT_EQ(needed(attention()), 80);
}

TEST(EverySchedule, CountsWhatIsGivenAndKeptWithoutATask) {
  Problem problem;
  problem.tasks = 0;
  problem.buffers = {{30, -1, {}, true}, {10, -1, {}, false}};
  EXPECT_EQ(needed(problem), 30);
}

TEST(EverySchedule, CountsAPartOnceWithItsWhole) {
  Problem problem = attention();
  problem.buffers[4].bytes = 1;
  // Apart: x and its parts while it is split. In one another: q, k, s, and v or w, while s is made.
  EXPECT_EQ(needed(problem), 60);
  const std::vector<Containment> parts = {{1, 0}, {2, 0}, {3, 0}};
  EXPECT_EQ(needed(problem, parts), 31);
}

TEST(EverySchedule, LeavesOutPartsOfTwoWholes) {
  Problem problem = attention();
  problem.buffers[4].bytes = 1;
  const std::vector<Containment> parts = {{1, 0}, {2, 0}, {3, 0}, {3, 4}};
  EXPECT_EQ(needed(problem, parts), 30);  // x
}

TEST(EverySchedule, ComputesInPlaceUnlessTheInputIsStillRead) {
  // 0: x   1: y = relu(x)   2: z = f(x)   3: y + z
  Problem problem;
  problem.tasks = 4;
  problem.buffers = {{10, 0, {1, 2}, false}, {10, 1, {3}, false}, {4, 2, {3}, false}, {1, 3, {}, true}};
  problem.in_place = {{0, 1}};
  EXPECT_EQ(needed(problem), 15);  // z first; then y, z and the sum
  problem.in_place.clear();
  EXPECT_EQ(needed(problem), 20);
  problem.in_place = {{0, 1}};
  problem.edges = {{1, 2}};
  EXPECT_EQ(needed(problem), 24);
}

TEST(EverySchedule, TakesTheBestOfSeveralInPlaceInputs) {
  // 0: a  1: b  2: c = a + b, in place of one; a is read later too
  Problem problem;
  problem.tasks = 4;
  problem.buffers = {{10, 0, {2, 3}, false}, {10, 1, {2}, false}, {10, 2, {3}, false}, {1, 3, {}, true}};
  problem.edges = {{0, 1}};
  problem.in_place = {{0, 2}, {1, 2}};
  EXPECT_EQ(needed(problem), 21);
  problem.in_place = {{0, 2}};
  EXPECT_EQ(needed(problem), 30);
}

TEST(EverySchedule, ANarrowerResultTakesNoMoreThanItsOwnBytes) {
  // 0: x   1: q, t = narrow(x), q at x's front   2: q + t
  Problem problem;
  problem.tasks = 3;
  problem.buffers = {{12, 0, {1}, false}, {3, 1, {2}, false}, {5, 1, {2}, false}, {1, 2, {}, true}};
  problem.in_place = {{0, 1}};
  EXPECT_EQ(needed(problem), 17);  // x and t
  problem.buffers[0].kept = true;
  EXPECT_EQ(needed(problem), 21) << "q beside them, and then the sum";
}

/// The peak of one order, by the definition.
int64_t peak(const Problem& problem, const std::vector<int32_t>& order) {
  std::vector<int> step(order.size());
  for (size_t i = 0; i < order.size(); ++i) step[order[i]] = static_cast<int>(i);
  const int end = static_cast<int>(order.size());
  const auto birth = [&](const Buffer& b) { return b.producer < 0 ? -1 : step[b.producer]; };
  const auto death = [&](const Buffer& b) {
    int last = b.producer < 0 && b.readers.empty() && !b.kept ? -2 : birth(b);
    for (const int32_t reader : b.readers) last = std::max(last, step[reader]);
    return b.kept ? end : last;
  };
  int64_t most = 0;
  for (int t = -1; t <= end; ++t) {
    int64_t bytes = 0;
    int64_t saved = 0;
    for (const Buffer& b : problem.buffers) bytes += birth(b) <= t && t <= death(b) ? b.bytes : 0;
    for (const InPlace& pair : problem.in_place) {
      const Buffer& from = problem.buffers[pair.from];
      const Buffer& to = problem.buffers[pair.to];
      if (birth(to) == t && death(from) == t) saved = std::max(saved, std::min(from.bytes, to.bytes));
    }
    most = std::max(most, bytes - saved);
  }
  return most;
}

bool keeps_edges(const Problem& problem, const std::vector<int32_t>& order) {
  std::vector<int> step(order.size());
  for (size_t i = 0; i < order.size(); ++i) step[order[i]] = static_cast<int>(i);
  const auto after = [&](int32_t a, int32_t b) { return a >= 0 && step[size_t(a)] > step[size_t(b)]; };
  for (const Edge& edge : problem.edges) {
    if (after(edge.before, edge.after)) return false;
  }
  for (const Buffer& buffer : problem.buffers) {
    for (const int32_t reader : buffer.readers) {
      if (after(buffer.producer, reader)) return false;
    }
  }
  return true;
}

/// Each task makes one buffer, which may be in place of any that it reads.
Problem random_problem(std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int32_t>(random() % static_cast<uint32_t>(n)); };
  Problem problem;
  problem.tasks = 3 + below(5);
  problem.buffers.push_back({5 * below(20), -1, {below(problem.tasks)}, below(4) == 0});
  for (int32_t t = 0; t < problem.tasks; ++t) {
    Buffer made = {5 + 5 * below(20), t, {}, below(8) == 0};
    for (int k = below(4); k > 0 && t + 1 < problem.tasks; --k) {
      made.readers.push_back(t + 1 + below(problem.tasks - t - 1));
    }
    const auto to = static_cast<int32_t>(problem.buffers.size());
    for (int32_t b = 0; b < to; ++b) {
      const std::vector<int32_t>& readers = problem.buffers[b].readers;
      if (std::count(readers.begin(), readers.end(), t) != 0 && below(2) == 0) problem.in_place.push_back({b, to});
    }
    problem.buffers.push_back(made);
    if (t > 0 && below(6) == 0) problem.edges.push_back({below(t), t});
  }
  return problem;
}

TEST(EverySchedule, IsALowerBoundForSmallGraphs) {
  const unsigned seed = testing::new_seed();
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  int exact = 0;
  for (int round = 0; round < 400; ++round) {
    const Problem problem = random_problem(random);
    int64_t best = INT64_MAX;
    std::vector<int32_t> order = all_tasks(problem);
    do {
      if (keeps_edges(problem, order)) best = std::min(best, peak(problem, order));
    } while (std::next_permutation(order.begin(), order.end()));
    ASSERT_FALSE(every_schedule_needs(problem, {}, all_tasks(problem), best + 1)) << "round " << round;
    exact += every_schedule_needs(problem, {}, all_tasks(problem), best) ? 1 : 0;
  }
  std::printf("%d of 400 are met\n", exact);
  EXPECT_GT(exact, 300);
}

}  // namespace
}  // namespace berth::scheduling
