// Entries: the nodes that make bytes of a large input, where nothing else reads it, as a quantised model begins.
//
// In the delegate of what reads the bytes, the input would lie in memory until the last node of it has run. In one of
// their own they end its life: the rest computes in its place.
#pragma once

#include <vector>

#include "compiler/placement/graph_walk.h"

namespace berth::placement {

/// Of each input of the method that 64 KiB are saved of: the nodes from it to its bytes, in order. Sizes that are open
/// count at their bound.
std::vector<std::vector<NodeId>> find_entries(const Module& module, const Method& method);

}  // namespace berth::placement
