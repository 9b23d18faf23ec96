#include "compiler/memory/scheduling/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>

#include "base/seeds_testing.h"
#include "compiler/memory/scheduling/generators.h"

namespace berth::scheduling {
namespace {

// A second, slow way to say what a peak is: by the definition, step by step.
int64_t defined_peak(const Problem& problem, const std::vector<int32_t>& tasks) {
  std::vector<int> step(tasks.size());
  for (size_t i = 0; i < tasks.size(); ++i) step[tasks[i]] = static_cast<int>(i);
  const auto birth = [&](const Buffer& b) { return b.producer < 0 ? -1 : step[b.producer]; };
  const auto death = [&](const Buffer& b) {
    int last = birth(b);
    for (int32_t reader : b.readers) last = std::max(last, step[reader]);
    return b.kept ? static_cast<int>(tasks.size()) : last;
  };
  int64_t peak = 0;
  for (int t = -1; t < static_cast<int>(tasks.size()); ++t) {
    int64_t bytes = 0;
    for (const Buffer& b : problem.buffers) {
      const bool unused = b.producer < 0 && b.readers.empty() && !b.kept;
      if (!unused && birth(b) <= t && t <= death(b)) bytes += b.bytes;
    }
    std::vector<int32_t> taken;
    for (const InPlace& pair : problem.in_place) {
      const Buffer& from = problem.buffers[pair.from];
      const Buffer& to = problem.buffers[pair.to];
      if (birth(to) != t || death(from) != t || from.kept) continue;
      if (std::count(taken.begin(), taken.end(), pair.to) != 0) continue;
      taken.push_back(pair.to);
      bytes -= std::min(from.bytes, to.bytes);
    }
    peak = std::max(peak, bytes);
  }
  return peak;
}

bool respects(const Problem& problem, const std::vector<int32_t>& tasks) {
  std::vector<int32_t> sorted = tasks;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int32_t> all(problem.tasks);
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all) return false;
  std::vector<int32_t> step(tasks.size());
  for (size_t i = 0; i < tasks.size(); ++i) step[tasks[i]] = static_cast<int32_t>(i);
  const auto before = [&](int32_t a, int32_t b) { return step[a] < step[b]; };
  for (const Edge& edge : problem.edges) {
    if (!before(edge.before, edge.after)) return false;
  }
  for (const Buffer& buffer : problem.buffers) {
    for (int32_t reader : buffer.readers) {
      if (buffer.producer >= 0 && !before(buffer.producer, reader)) return false;
    }
  }
  return true;
}

int64_t best_by_trying_all(const Problem& problem) {
  std::vector<int32_t> tasks(problem.tasks);
  std::iota(tasks.begin(), tasks.end(), 0);
  int64_t best = INT64_MAX;
  do {
    if (respects(problem, tasks)) best = std::min(best, defined_peak(problem, tasks));
  } while (std::next_permutation(tasks.begin(), tasks.end()));
  return best;
}

// By going through all sets of tasks, one after the other: no queue, no bounds, no rules.
class AllSets {
 public:
  explicit AllSets(const Problem& problem) : problem_(problem) {}

  int64_t least_peak() const {
    const uint32_t all = (uint32_t{1} << problem_.tasks) - 1;
    std::vector<int64_t> least(all + 1, INT64_MAX);
    least[0] = live(0);
    for (uint32_t done = 0; done < all; ++done) {
      if (least[done] == INT64_MAX) continue;
      for (int32_t t = 0; t < problem_.tasks; ++t) {
        if (!may_run(t, done)) continue;
        int64_t& next = least[done | uint32_t{1} << t];
        next = std::min(next, std::max(least[done], during(t, done)));
      }
    }
    return least[all];
  }

 private:
  static bool has(uint32_t set, int32_t task) { return task < 0 || (set >> task & 1) != 0; }

  bool may_run(int32_t t, uint32_t done) const {
    if (has(done, t)) return false;
    for (const Edge& edge : problem_.edges) {
      if (edge.after == t && !has(done, edge.before)) return false;
    }
    for (const Buffer& b : problem_.buffers) {
      if (std::count(b.readers.begin(), b.readers.end(), t) != 0 && !has(done, b.producer)) return false;
    }
    return true;
  }

  bool wanted(const Buffer& b, uint32_t done) const {
    return b.kept || std::any_of(b.readers.begin(), b.readers.end(), [&](int32_t r) { return !has(done, r); });
  }

  int64_t live(uint32_t done) const {
    int64_t bytes = 0;
    for (const Buffer& b : problem_.buffers) bytes += has(done, b.producer) && wanted(b, done) ? b.bytes : 0;
    return bytes;
  }

  int64_t during(int32_t t, uint32_t done) const {
    const uint32_t after = done | uint32_t{1} << t;
    int64_t bytes = live(done);
    for (const Buffer& b : problem_.buffers) bytes += b.producer == t ? b.bytes : 0;
    std::vector<int32_t> taken;
    for (const InPlace& pair : problem_.in_place) {
      const Buffer& from = problem_.buffers[pair.from];
      const Buffer& to = problem_.buffers[pair.to];
      if (to.producer != t || wanted(from, after) || std::count(taken.begin(), taken.end(), pair.to) != 0) continue;
      taken.push_back(pair.to);
      bytes -= std::min(from.bytes, to.bytes);
    }
    return bytes;
  }

  const Problem& problem_;
};

Problem random_problem(std::mt19937& random, int32_t tasks) {
  const auto below = [&](int n) { return static_cast<int32_t>(random() % static_cast<uint32_t>(n)); };
  Problem problem;
  problem.tasks = tasks;
  for (int i = 0; i < 2; ++i) problem.buffers.push_back({below(50), -1, {below(tasks)}, below(4) == 0});
  for (int32_t t = 0; t < tasks; ++t) {
    Buffer made;
    made.producer = t;
    made.bytes = 1 + below(100);
    made.kept = below(8) == 0;
    for (int k = below(3); k > 0 && t + 1 < tasks; --k) made.readers.push_back(t + 1 + below(tasks - t - 1));
    problem.buffers.push_back(made);
    const auto to = static_cast<int32_t>(problem.buffers.size()) - 1;
    for (int32_t b = 0; b < to; ++b) {
      const std::vector<int32_t>& readers = problem.buffers[b].readers;
      if (std::count(readers.begin(), readers.end(), t) == 0 || below(2) == 0) continue;
      // As large, or narrower elements at its front.
      problem.buffers[to].bytes = below(3) == 0 ? (problem.buffers[b].bytes + 3) / 4 : problem.buffers[b].bytes;
      problem.in_place.push_back({b, to});
      break;
    }
    if (t > 0 && below(6) == 0) problem.edges.push_back({below(t), t});
  }
  return problem;
}

TEST(Schedule, IsOptimalForSmallGraphs) {
  const uint32_t seed = testing::new_seed();
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  int better = 0;
  for (int round = 0; round < 300; ++round) {
    const Problem problem = random_problem(random, 2 + static_cast<int32_t>(random() % 6));
    const Expected<Schedule> order = best_schedule(problem);
    ASSERT_TRUE(order.ok());
    ASSERT_TRUE(respects(problem, order->tasks));
    ASSERT_EQ(order->peak, defined_peak(problem, order->tasks));
    ASSERT_EQ(order->peak, best_by_trying_all(problem)) << "round " << round;
    ASSERT_TRUE(order->optimal()) << "round " << round;
    better += order->peak < order->given_peak ? 1 : 0;
  }
  EXPECT_GT(better, 20);
}

// One buffer that many read, several of them in its place: who is moved behind others there costs them their place.
Problem random_problem_of_readers(std::mt19937& random, int32_t tasks) {
  const auto below = [&](int n) { return static_cast<int32_t>(random() % static_cast<uint32_t>(n)); };
  Problem problem;
  problem.tasks = tasks;
  for (int32_t t = 0; t < tasks; ++t) problem.buffers.push_back({10 + 10 * below(3), t, {}, false});
  for (int32_t t = 1; t < tasks; ++t) {
    for (int k = 1 + below(2); k > 0; --k) {
      const int32_t from = std::max(0, t - 1 - below(5));
      Buffer& read = problem.buffers[from];
      if (std::count(read.readers.begin(), read.readers.end(), t) != 0) continue;
      read.readers.push_back(t);
      if (read.bytes >= problem.buffers[t].bytes && below(4) != 0) {
        problem.in_place.push_back({from, t});
      }
    }
  }
  problem.buffers.back().kept = true;
  return problem;
}

TEST(Schedule, IsOptimalForGraphsWithManyReaders) {
  const uint32_t seed = testing::new_seed();
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 150; ++round) {
    const int32_t tasks = 8 + static_cast<int32_t>(random() % 6);
    const Problem problem = round % 2 == 0 ? random_problem(random, tasks) : random_problem_of_readers(random, tasks);
    const Expected<Schedule> order = best_schedule(problem);
    ASSERT_TRUE(order.ok());
    ASSERT_EQ(order->peak, defined_peak(problem, order->tasks));
    ASSERT_EQ(order->peak, AllSets(problem).least_peak()) << "round " << round;
    ASSERT_TRUE(order->optimal()) << "round " << round;
  }
}

int64_t looks = 0;
int64_t look_again() { return ++looks * 1'000'000; }

TEST(Schedule, IsCompleteWhereverTheTimeLimitStrikes) {
  const Problem problem = wired_stage(3, 120, true);
  Options options;
  options.clock = look_again;
  for (int64_t ms = 1; ms < 2000; ms *= 2) {
    looks = 0;
    options.time_limit = 1e-3 * static_cast<double>(ms);
    const Expected<Schedule> order = best_schedule(problem, options);
    ASSERT_TRUE(order.ok());
    EXPECT_TRUE(respects(problem, order->tasks));
    EXPECT_LE(order->peak, order->given_peak);
    EXPECT_EQ(order->truncated, looks > ms);
    EXPECT_LE(looks, ms + 2);
  }
  EXPECT_GT(looks, 100);
}

TEST(Schedule, IsNeverWorseThanTheGivenOneEvenWithoutSearch) {
  const uint32_t seed = testing::new_seed();
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 400; ++round) {
    const Problem problem = random_problem(random, 5 + static_cast<int32_t>(random() % 60));
    Options options;
    options.states = round % 4 == 0 ? 0 : static_cast<int64_t>(random() % 300);
    options.beam = 1 + static_cast<int32_t>(random() % 8);
    const Expected<Schedule> order = best_schedule(problem, options);
    ASSERT_TRUE(order.ok());
    ASSERT_TRUE(respects(problem, order->tasks));
    ASSERT_EQ(order->peak, defined_peak(problem, order->tasks));
    ASSERT_LE(order->peak, order->given_peak);
    ASSERT_LE(order->lower_bound, order->peak);
    const Expected<Schedule> exact = best_schedule(problem);
    ASSERT_TRUE(exact.ok());
    ASSERT_LE(order->lower_bound, exact->peak) << "a bound that an order goes below";
  }
}

// 2 000 graphs; as many as BERTH_GRAPHS says where it is set.
TEST(Schedule, IsNeverWorseForThousandsOfGraphs) {
  const char* wanted = std::getenv("BERTH_GRAPHS");
  const int rounds = wanted != nullptr ? std::atoi(wanted) : 2000;
  const uint32_t seed = testing::new_seed();
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  int better = 0;
  int proven = 0;
  for (int round = 0; round < rounds; ++round) {
    const Problem problem = random_problem(random, 3 + static_cast<int32_t>(random() % 40));
    Options options;
    options.states = 1'000;
    options.total_states = 3'000;
    options.beam = 4;
    const Expected<Schedule> order = best_schedule(problem, options);
    ASSERT_TRUE(order.ok());
    ASSERT_TRUE(respects(problem, order->tasks)) << "round " << round;
    std::vector<int32_t> given(problem.tasks);
    std::iota(given.begin(), given.end(), 0);
    ASSERT_LE(defined_peak(problem, order->tasks), defined_peak(problem, given)) << "round " << round;
    better += order->peak < order->given_peak ? 1 : 0;
    proven += order->optimal() ? 1 : 0;
  }
  std::printf("%d graphs: %d better, %d proven best\n", rounds, better, proven);
}

TEST(Schedule, FinishesOneBranchBeforeItStartsTheNext) {
  // Two branches that each grow to 100 and shrink to 1, started side by side.
  Problem problem;
  problem.tasks = 5;
  problem.buffers = {{4, -1, {0, 1}, false}, {100, 0, {2}, false}, {100, 1, {3}, false},
                     {1, 2, {4}, false},     {1, 3, {4}, false},   {1, 4, {}, true}};
  const Expected<Schedule> order = best_schedule(problem);
  ASSERT_TRUE(order.ok());
  EXPECT_EQ(order->given_peak, 204);
  EXPECT_EQ(order->peak, 105);
  EXPECT_TRUE(order->optimal());
}

TEST(Schedule, KeepsEdges) {
  Problem problem;
  problem.tasks = 5;
  problem.buffers = {{4, -1, {0, 1}, false}, {100, 0, {2}, false}, {100, 1, {3}, false},
                     {1, 2, {4}, false},     {1, 3, {4}, false},   {1, 4, {}, true}};
  problem.edges = {{1, 2}};  // as between side effects
  const Expected<Schedule> order = best_schedule(problem);
  ASSERT_TRUE(order.ok());
  ASSERT_TRUE(respects(problem, order->tasks));
  EXPECT_EQ(order->peak, best_by_trying_all(problem));
}

TEST(Schedule, CountsAnInPlaceResultOnce) {
  Problem problem;
  problem.tasks = 2;
  problem.buffers = {{10, 0, {1}, false}, {10, 1, {}, true}};
  EXPECT_EQ(peak_of(problem, {0, 1}), 20);
  problem.in_place = {{0, 1}};
  EXPECT_EQ(peak_of(problem, {0, 1}), 10);
}

TEST(Schedule, MalformedProblemsAreRefused) {
  Problem problem;
  problem.tasks = 2;
  problem.edges = {{1, 0}};
  EXPECT_EQ(best_schedule(problem).error().code, Error::kInvalidArgument);
  problem.edges = {{0, 2}};
  EXPECT_FALSE(best_schedule(problem).ok());
  problem.edges.clear();
  problem.buffers = {{-1, 0, {1}, false}};
  EXPECT_EQ(best_schedule(problem).error().place, "buffers[0]");
  problem.buffers = {{1, 1, {1}, false}};
  EXPECT_FALSE(best_schedule(problem).ok());
  problem.buffers.clear();
  problem.in_place = {{0, 0}};
  EXPECT_FALSE(best_schedule(problem).ok());
}

TEST(Schedule, AnEmptyProblemHasAnEmptyOrder) {
  const Expected<Schedule> order = best_schedule({});
  ASSERT_TRUE(order.ok());
  EXPECT_TRUE(order->tasks.empty());
  EXPECT_TRUE(order->optimal());
}

// RandWire's stages, within the states that every compilation may keep.
TEST(Schedule, RandomlyWiredStagesAreProven) {
  const uint32_t seed = testing::new_seed();
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 40; ++round) {
    const Problem problem = wired_stage(random(), 32, round % 2 == 1);
    const auto begin = std::chrono::steady_clock::now();
    const Expected<Schedule> order = best_schedule(problem);
    const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - begin;
    ASSERT_TRUE(order.ok());
    EXPECT_TRUE(order->optimal()) << "round " << round;
    RecordProperty("stage_" + std::to_string(round),
                   std::to_string(ms.count()) + " ms, " + std::to_string(order->states) + " states, " +
                       std::to_string(order->given_peak) + " to " + std::to_string(order->peak));
  }
}

}  // namespace
}  // namespace berth::scheduling
