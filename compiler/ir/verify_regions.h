// What the IR's own operators (if, while, scan, delegate, state_read, state_write) demand of their regions, states and
// delegates, for the verifier. Their results have the types that they say; these rules hold the types together, devices
// aside.
#pragma once

#include <string>

#include "compiler/ir/module.h"

namespace berth::ir {

/// How deep regions of branches and loops may nest. The parser and the verifier have the same limit, so that what was
/// verified and printed can be parsed back. The region of a delegate may be inside the innermost of them.
inline constexpr int kMaxRegionDepth = 32;

/// What is wrong with `depth` regions around a node that has regions itself; empty when nothing is.
std::string depth_problem(const Node& node, int depth);

/// What is wrong with `node`; empty when nothing is. REQUIRES: an operator without a shape rule whose arguments fit the
/// schema, and values that exist.
std::string region_problem(const Module& module, const Method& method, const Node& node);

}  // namespace berth::ir
