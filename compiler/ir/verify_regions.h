// What the IR's own operators (if, while, scan, delegate, state_read, state_write) demand of their regions, states and
// delegates, for the verifier. Their results have the types that they say; these rules hold the types together, devices
// aside.
#pragma once

#include <string>

#include "compiler/ir/module.h"

namespace berth::ir {

/// What is wrong with `node`; empty when nothing is. REQUIRES: an operator without a shape rule whose arguments fit the
/// schema, and values that exist.
std::string region_problem(const Module& module, const Method& method, const Node& node);

}  // namespace berth::ir
