// What the IR's own operators (if, while, scan, delegate, state_read, state_write) demand of their regions, states and
// delegates, for the verifier. Their results have the types that they say; these rules hold the types together, devices
// aside.
#pragma once

#include <string>

#include "compiler/ir/module.h"

namespace berth::ir {

/// Regions of branches and loops lie at most so many within each other, for the parser and the verifier alike: what is
/// verified is parsed back when it was printed. A delegate's region may lie in the innermost of them.
inline constexpr int kMaxRegionDepth = 32;

/// What is wrong with `depth` regions around a node that has regions itself; empty when nothing is.
std::string depth_problem(const Node& node, int depth);

/// What is wrong with `node`; empty when nothing is. REQUIRES: an operator without a shape rule whose arguments fit the
/// schema, and values that exist.
std::string region_problem(const Module& module, const Method& method, const Node& node);

}  // namespace berth::ir
