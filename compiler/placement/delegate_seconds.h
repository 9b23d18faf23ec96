// How long a call of each delegate takes, estimated before fusion: fused operators have no rates.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/placement/device_costs.h"

namespace berth::placement {

/// By the delegates' names.
using DelegateSeconds = std::map<std::string, double>;

/// How long these nodes of a method take on a target with these costs, estimated as in by_cost.h, with the call.
/// `fuses`: an element-wise node that is the only reader of another of them costs only the bytes of its other inputs.
double seconds_of_part(const ir::Module& module, const ir::Method& method, const std::vector<ir::NodeId>& nodes,
                       const DeviceCosts& costs, bool fuses);

/// How long a node outside of delegates takes on the host, with all iterations of its regions.
double seconds_of_node(const ir::Module& module, const ir::Method& method, const ir::Node& node,
                       const DeviceCosts& costs);

}  // namespace berth::placement
