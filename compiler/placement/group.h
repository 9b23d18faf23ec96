// Groups: the parts of one graph that become delegates, and whether each can be one.
#pragma once

#include <vector>

#include "compiler/ir/module.h"
#include "compiler/placement/assign.h"
#include "compiler/placement/clusters.h"
#include "compiler/placement/options.h"

namespace berth::placement {

/// The nodes of one delegate to be.
struct Group {
  int32_t target = -1;              // index into Options::targets
  std::vector<ir::NodeId> nodes;    // in the order of the graph
  std::vector<ir::ValueId> inputs;  // values that it reads and others make, then carriers of sizes
};

/// One graph of a method, cut into groups.
struct Grouping {
  std::vector<Group> groups;
  std::vector<int32_t> order;               // clusters.h: places in the graph's list as they are, groups as ~g
  IdVector<ir::ValueId, int32_t> group_of;  // the group whose nodes make it, -1 for others
};

/// Groups what `assignment` gives to targets that make delegates, and takes back what cannot be in one, with the reason
/// kSymbolUnknown, kViewsOnly, kLastView, kLimit or kTogether in `assignment`. A group beyond its target's limits is
/// cut: its longest beginning that is within them becomes one, and so on. What its target wants together is never cut:
/// where it cannot be in one group, it is in a group of its own, or in none. InvalidArgument for the first and the last
/// reason when the user asked for the node; a target's failure.
Expected<Grouping> group_nodes(const ir::Module& module, const ir::Method& method, const ir::Graph& graph,
                               const Options& options, Assignment* assignment);

}  // namespace berth::placement
