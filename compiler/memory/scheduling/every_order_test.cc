#include "compiler/memory/scheduling/every_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>

#include "compiler/memory/scheduling/flow.h"

namespace berth::scheduling {
namespace {

std::vector<int32_t> all_tasks(const Problem& problem) {
  std::vector<int32_t> tasks(problem.tasks);
  std::iota(tasks.begin(), tasks.end(), 0);
  return tasks;
}

/// The most that every order is found to need.
int64_t needed(const Problem& problem, const std::vector<Part>& parts = {}) {
  int64_t bytes = 0;
  while (every_order_needs(problem, parts, all_tasks(problem), bytes + 1)) ++bytes;
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

TEST(EveryOrder, KeepsWhatIsLiveBetweenTwoTasks) {
  // While s is made: q, k, s, and v or w.
  EXPECT_EQ(needed(attention()), 80);
}

TEST(EveryOrder, CountsWhatIsGivenAndKeptWithoutATask) {
  Problem problem;
  problem.tasks = 0;
  problem.buffers = {{30, -1, {}, true}, {10, -1, {}, false}};
  EXPECT_EQ(needed(problem), 30);
}

TEST(EveryOrder, CountsAPartOnceWithItsWhole) {
  Problem problem = attention();
  problem.buffers[4].bytes = 1;
  // Apart: x and its parts while it is split. In one another: q, k, s, and v or w, while s is made.
  EXPECT_EQ(needed(problem), 60);
  const std::vector<Part> parts = {{1, 0}, {2, 0}, {3, 0}};
  EXPECT_EQ(needed(problem, parts), 31);
}

TEST(EveryOrder, LeavesOutPartsOfTwoWholes) {
  Problem problem = attention();
  problem.buffers[4].bytes = 1;
  const std::vector<Part> parts = {{1, 0}, {2, 0}, {3, 0}, {3, 4}};
  EXPECT_EQ(needed(problem, parts), 30);  // x
}

TEST(EveryOrder, ComputesInPlaceUnlessTheInputIsStillRead) {
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

TEST(EveryOrder, TakesTheBestOfSeveralInPlaceInputs) {
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

bool respects(const Problem& problem, const std::vector<int32_t>& order) {
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

TEST(EveryOrder, IsALowerBoundForSmallGraphs) {
  const char* given = std::getenv("BERTH_SEED");
  const unsigned seed =
      given == nullptr ? std::random_device{}() : static_cast<unsigned>(std::strtoul(given, nullptr, 10));
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  int exact = 0;
  for (int round = 0; round < 400; ++round) {
    const Problem problem = random_problem(random);
    int64_t best = INT64_MAX;
    std::vector<int32_t> order = all_tasks(problem);
    do {
      if (respects(problem, order)) best = std::min(best, peak(problem, order));
    } while (std::next_permutation(order.begin(), order.end()));
    ASSERT_FALSE(every_order_needs(problem, {}, all_tasks(problem), best + 1)) << "round " << round;
    exact += every_order_needs(problem, {}, all_tasks(problem), best) ? 1 : 0;
  }
  std::printf("%d of 400 are met\n", exact);
  EXPECT_GT(exact, 300);
}

// The least cut of small networks, by trying all sides.
TEST(EveryOrder, TheLargestFlowIsTheLeastCut) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 500; ++round) {
    FlowNetwork network;
    const int32_t nodes = 2 + static_cast<int32_t>(random() % 7);
    for (int32_t n = 2; n < nodes; ++n) network.add_node();
    struct Arc {
      int32_t from, to;
      int64_t cost;
    };
    std::vector<Arc> arcs;
    for (int i = 0; i < 3 * nodes; ++i) {
      arcs.push_back({0, 0, 0});
      arcs.back().from = static_cast<int32_t>(random() % static_cast<uint32_t>(nodes));
      arcs.back().to = static_cast<int32_t>(random() % static_cast<uint32_t>(nodes));
      arcs.back().cost = static_cast<int64_t>(random() % 20);
      network.add_arc(arcs.back().from, arcs.back().to, arcs.back().cost);
    }
    int64_t least = INT64_MAX;
    for (uint32_t side = 1; side < (1u << nodes); side += 2) {  // the source is on it
      if ((side & 2) != 0) continue;
      int64_t cost = 0;
      for (const Arc& arc : arcs) cost += (side >> arc.from & 1) != 0 && (side >> arc.to & 1) == 0 ? arc.cost : 0;
      least = std::min(least, cost);
    }
    int64_t work = 1'000'000;
    ASSERT_EQ(network.push(&work), least) << "round " << round;
  }
}

TEST(EveryOrder, TheLargestFlowEndsWithItsBudget) {
  FlowNetwork network;
  int32_t last = FlowNetwork::kSource;
  for (int i = 0; i < 1000; ++i) {
    const int32_t next = network.add_node();
    network.add_arc(last, next, 5);
    last = next;
  }
  network.add_arc(last, FlowNetwork::kSink, 5);
  for (const int64_t most : {int64_t{0}, int64_t{10}, int64_t{1500}}) {
    FlowNetwork copy = network;
    int64_t work = most;
    EXPECT_EQ(copy.push(&work), 0);
    EXPECT_GE(work, -2);
  }
  int64_t work = 100'000;
  EXPECT_EQ(network.push(&work), 5);
}

}  // namespace
}  // namespace berth::scheduling
