// The largest flow through a network, which is the least that a cut of it costs (Dinic's algorithm), for the compiler:
// how many bytes every schedule keeps alive, and on which of two devices a node runs.
#pragma once

#include <cstdint>
#include <vector>

namespace berth {

class FlowNetwork {
 public:
  /// More than all costs together.
  static constexpr int64_t kNoCut = INT64_MAX / 4;
  static constexpr int32_t kSource = 0;
  static constexpr int32_t kSink = 1;

  FlowNetwork() : first_(2, -1) {}

  int32_t add_node() {
    first_.push_back(-1);
    return static_cast<int32_t>(first_.size()) - 1;
  }

  /// Cutting it costs `cost`. REQUIRES: the costs below kNoCut are less than that together.
  void add_arc(int32_t from, int32_t to, int64_t cost);

  /// What no cut between source and sink is below. It is the least cut where `work`, of which each look at an arc takes
  /// one, suffices. Once.
  int64_t push(int64_t* work);

  /// Whether `node` is on the source's side of a least cut: of all of them, the one with the fewest nodes there.
  /// REQUIRES: push() was called, and `work` was left.
  bool is_with_source(int32_t node) const { return level_[node] >= 0; }

 private:
  struct Arc {
    int32_t to;
    int32_t next;  // of the same node, or -1
    int64_t left;
  };

  bool find_levels(int64_t* work);
  int64_t push_one_way(int64_t* work);

  std::vector<Arc> arcs_;         // the one at i ^ 1 is the reverse of the one at i
  std::vector<int32_t> first_;    // of each node
  std::vector<int32_t> current_;  // of each node: its first arc that may still lead on
  std::vector<int32_t> level_;    // of each node: its distance from the source, or -1
};

}  // namespace berth
