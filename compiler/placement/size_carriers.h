// Sizes that change and that a delegate's kernels are given as numbers: they are read off its inputs, as dimensions.
// Where no input has one, an input of the method that has it becomes the delegate's as well, as its carrier.
#pragma once

#include "compiler/placement/graph_walk.h"

namespace berth::placement {

/// A size that a node needs and that nothing carries.
struct UnknownSize {
  NodeId node;
  ir::SymbolId symbol;
};

/// Appends carriers to `inputs`, those of a delegate of `nodes` on `device`, and returns what none carries, one size a
/// node.
std::vector<UnknownSize> add_size_carriers(const Module& module, const Method& method, const std::vector<NodeId>& nodes,
                                           Device device, std::vector<ValueId>* inputs);

}  // namespace berth::placement
