// How much of a group is within what a delegate of its target may have.
#pragma once

#include "compiler/placement/graph_walk.h"
#include "compiler/targets/target.h"

namespace berth::placement {

/// The largest number of `nodes`, from the first on, that are within `limits` as a delegate of `graph`.
size_t longest_within(const Method& method, const Graph& graph, const std::vector<NodeId>& nodes,
                      const targets::Limits& limits);

}  // namespace berth::placement
