// What a call of each delegate takes, reckoned while its nodes are still the model's: what they are fused to has no rates.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/placement/device_costs.h"

namespace berth::placement {

/// By the delegates' names.
using DelegateSeconds = std::map<std::string, double>;

/// What these nodes of a method take on a target with these costs, as by_cost.h reckons them, and the call. `fuses`: what is
/// element-wise, and alone reads what another of them makes, costs only the bytes that it reads beside.
double seconds_of_part(const ir::Module& module, const ir::Method& method, const std::vector<ir::NodeId>& nodes,
                       const DeviceCosts& costs, bool fuses);

/// What a node outside of delegates takes on the host, with what is in its regions as often as it turns.
double seconds_of_node(const ir::Module& module, const ir::Method& method, const ir::Node& node,
                       const DeviceCosts& costs);

}  // namespace berth::placement
