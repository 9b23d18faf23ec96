// Clusters: the nodes of an acyclic graph, each with a colour or none, grouped into as few groups of one colour as may
// be run as one node each.
//
// A group is convex: no path leaves it and comes back, so that contracting all groups at once leaves an acyclic graph.
// Nodes are looked at in their order; each joins the last group of its colour that holds a node which it reads, else
// the last one at all, where that closes no cycle; else it founds a group. So no two groups of one colour could be one:
// each was founded by a node that a path from every earlier group through others kept out of it. (A node tries at most
// kMostTried groups; beyond, in graphs that go back and forth so often, that sentence is not kept.)
//
// Works on numbers alone. Time: edges, and for each group that gains an ancestor late, groups and nodes once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace berth::placement {

constexpr size_t kMostTried = 256;

struct Clusters {
  std::vector<int32_t> of;  // of each node: its group, -1 without a colour
  int32_t count = 0;
  /// A topological order of the contracted graph: node i as i, group g as ~g. Among what is ready, what holds the
  /// earliest node comes first.
  std::vector<int32_t> order;
};

/// `reads[i]`: the nodes that node i reads, all before it, in any order, repetitions allowed. `colours[i]`: -1 for
/// none. REQUIRES: both are as long.
Clusters find_clusters(const std::vector<std::vector<int32_t>>& reads, const std::vector<int32_t>& colours);

}  // namespace berth::placement
