#include "compiler/placement/clusters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

namespace berth::placement {
namespace {

using Reads = std::vector<std::vector<int32_t>>;

TEST(Clusters, ADiamondThroughAnotherColourIsCutInTwo) {
  // 0 -> 1(other) -> 3, 0 -> 2 -> 3: nodes 0 and 2 may be one, 3 may not, because 1 stands between.
  const Clusters clusters = find_clusters({{}, {0}, {0}, {1, 2}}, {0, -1, 0, 0});
  EXPECT_EQ(clusters.count, 2);
  EXPECT_EQ(clusters.of, (std::vector<int32_t>{0, -1, 0, 1}));
  EXPECT_EQ(clusters.order, (std::vector<int32_t>{~0, 1, ~1}));
}

TEST(Clusters, NodesThatShareNoValueAreStillOneGroup) {
  // Two chains whose other ends are of no colour.
  const Clusters clusters = find_clusters({{}, {}, {0}, {1}, {2}, {3}}, {-1, -1, 0, 0, -1, -1});
  EXPECT_EQ(clusters.count, 1);
  EXPECT_EQ(clusters.order, (std::vector<int32_t>{0, 1, ~0, 4, 5}));
}

TEST(Clusters, AGroupThatGainsAnAncestorLateKeepsOthersOutOfTheCycle) {
  // Group A = {0}; 1 (colour 1) reads 0. Then 2 (none) and 3, of A's colour, reads 2: A joins 3 and so comes after 2.
  // 4 (none) reads 1. 5, of 1's colour, reads nothing; 6 (A's colour) reads 4, which is after 1, which is after A.
  const Clusters clusters = find_clusters({{}, {0}, {}, {2}, {1}, {}, {4}}, {0, 1, -1, 0, -1, 1, 0});
  EXPECT_EQ(clusters.of, (std::vector<int32_t>{0, 1, -1, 0, -1, 1, 2}));
}

// The contracted graph, built from the result alone, with an edge list and depth-first search: nothing of the code
// under test.
class Contracted {
 public:
  Contracted(const Reads& reads, const std::vector<int32_t>& of) {
    for (size_t i = 0; i < reads.size(); ++i) {
      for (int32_t r : reads[i]) {
        const int32_t from = name(r, of);
        const int32_t to = name(i, of);
        if (from != to) edges_[from].insert(to);
      }
    }
  }

  bool has_path(int32_t from, int32_t to, bool direct_counts) const {
    std::set<int32_t> seen;
    std::vector<int32_t> stack;
    const auto start = edges_.find(from);
    if (start == edges_.end()) return false;
    for (int32_t next : start->second) {
      if (next == to && !direct_counts) continue;
      stack.push_back(next);
    }
    while (!stack.empty()) {
      const int32_t at = stack.back();
      stack.pop_back();
      if (at == to) return true;
      if (!seen.insert(at).second) continue;
      const auto next = edges_.find(at);
      if (next != edges_.end()) stack.insert(stack.end(), next->second.begin(), next->second.end());
    }
    return false;
  }

 private:
  static int32_t name(size_t node, const std::vector<int32_t>& of) {
    return of[node] < 0 ? static_cast<int32_t>(node) : ~of[node];
  }
  std::map<int32_t, std::set<int32_t>> edges_;
};

void check(unsigned seed) {
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  const size_t nodes = 2 + random() % 40;
  const int colours = 1 + static_cast<int>(random() % 3);
  const auto density = 1 + random() % 3;
  Reads reads(nodes);
  std::vector<int32_t> colour(nodes);
  for (size_t i = 0; i < nodes; ++i) {
    colour[i] = static_cast<int32_t>(random() % static_cast<unsigned>(colours + 1)) - 1;
    for (auto e = random() % (density + 1); i > 0 && e > 0; --e) {
      reads[i].push_back(static_cast<int32_t>(i - 1 - random() % std::min<size_t>(i, 8)));
    }
  }
  const Clusters clusters = find_clusters(reads, colour);
  // One colour a group.
  std::vector<int32_t> colour_of(clusters.count, -2);
  for (size_t i = 0; i < nodes; ++i) {
    ASSERT_EQ(clusters.of[i] < 0, colour[i] < 0);
    if (clusters.of[i] < 0) continue;
    int32_t& known = colour_of[clusters.of[i]];
    ASSERT_TRUE(known == -2 || known == colour[i]);
    known = colour[i];
  }
  // Convex: no group is before itself.
  const Contracted graph(reads, clusters.of);
  for (int32_t g = 0; g < clusters.count; ++g) ASSERT_FALSE(graph.has_path(~g, ~g, true)) << "group " << g;
  // Maximal: two groups of one colour have a way through something else between them.
  for (int32_t a = 0; a < clusters.count; ++a) {
    for (int32_t b = a + 1; b < clusters.count; ++b) {
      if (colour_of[a] != colour_of[b]) continue;
      ASSERT_TRUE(graph.has_path(~a, ~b, false) || graph.has_path(~b, ~a, false)) << a << " and " << b;
    }
  }
  // The order has everything once, and what is read first.
  std::set<int32_t> done;
  for (int32_t item : clusters.order) {
    ASSERT_TRUE(done.insert(item).second);
    for (size_t i = 0; i < nodes; ++i) {
      const int32_t own = clusters.of[i] < 0 ? static_cast<int32_t>(i) : ~clusters.of[i];
      if (own != item) continue;
      for (int32_t r : reads[i]) {
        const size_t read = r;
        ASSERT_TRUE(done.count(clusters.of[read] < 0 ? r : ~clusters.of[read])) << "node " << i;
      }
    }
  }
  const size_t grouped =
      static_cast<size_t>(std::count_if(clusters.of.begin(), clusters.of.end(), [](int32_t g) { return g >= 0; }));
  ASSERT_EQ(done.size(), nodes - grouped + static_cast<size_t>(clusters.count));
  // The same again.
  const Clusters again = find_clusters(reads, colour);
  ASSERT_EQ(again.of, clusters.of);
  ASSERT_EQ(again.order, clusters.order);
}

TEST(Clusters, RandomGraphsGiveConvexGroupsThatCannotBeFewer) {
  if (const char* seed = std::getenv("BERTH_SEED")) return check(static_cast<unsigned>(std::atoi(seed)));
  // Holds row 246.
  for (unsigned seed = 0; seed < 3000 && !::testing::Test::HasFailure(); ++seed) check(seed);
}

}  // namespace
}  // namespace berth::placement
