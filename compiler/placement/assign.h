// Assigns a target to each node: by the user's rules first, then by the parts of a split or by cost, then by the order
// of the targets.
#pragma once

#include <string>
#include <vector>

#include "base/failure.h"
#include "compiler/ir/module.h"
#include "compiler/placement/by_cost.h"
#include "compiler/placement/options.h"

namespace berth::placement {

/// Of one method.
struct Assignment {
  IdVector<ir::NodeId, int32_t> target;            // index into the method's Options::targets, -1: none
  IdVector<ir::NodeId, targets::Support> support;  // kSupported, or why the most preferred target does not
  IdVector<ir::NodeId, std::string> reason;        // of kRefused: the target's own words
  IdVector<ir::NodeId, bool> asked;                // the user said so
};

struct Assignments {
  std::vector<Assignment> methods;  // in the module's order
  CostEstimate estimate;            // empty where no method is placed by cost
};

/// Asks for every operator of every method, those in branches and loops included, the regions of delegates left out.
/// State, copies and calls of delegates are never assigned and match no rule. InvalidArgument for a rule that is like
/// no node; for a node that was asked to run on a device where no target takes it, with the reason; for a device that
/// no target is on. A plug-in's failure, and those of choose_by_cost().
Expected<Assignments> assign(const ir::Module& module, const Options& options);

}  // namespace berth::placement
