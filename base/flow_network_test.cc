// The largest flow against the least cut, found by trying all of them.
#include "base/flow_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "base/seeds_testing.h"

namespace berth {
namespace {

TEST(FlowNetwork, TheLargestFlowIsTheLeastCut) {
  const unsigned seed = testing::new_seed();
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
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
    uint32_t smallest = 0;  // of the sides of the source that cost the least, what all of them have
    for (uint32_t side = 1; side < (1u << nodes); side += 2) {  // the source is on it
      if ((side & 2) != 0) continue;
      int64_t cost = 0;
      for (const Arc& arc : arcs) cost += (side >> arc.from & 1) != 0 && (side >> arc.to & 1) == 0 ? arc.cost : 0;
      if (cost == least) smallest &= side;
      if (cost < least) smallest = side;
      least = std::min(least, cost);
    }
    int64_t work = 1'000'000;
    ASSERT_EQ(network.push(&work), least) << "round " << round;
    for (int32_t n = 0; n < nodes; ++n) {
      ASSERT_EQ(network.is_with_source(n), (smallest >> n & 1) != 0) << "round " << round << ", node " << n;
    }
  }
}

TEST(FlowNetwork, TheLargestFlowEndsWithItsBudget) {
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
}  // namespace berth
