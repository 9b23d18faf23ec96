// by_cost: which of the targets that take a node it runs on, by what the node and the copies are estimated to take.
//
// It minimises the time of a run of all methods that are placed by cost, once each, one after the other:
//
//   each node         its launch and its work on its target (device_costs.h, operator_work.h). What is element-wise,
//                     and alone reads what it works on, is fused into what makes that if both are on one target that
//                     fuses: then it costs the bytes that it reads beside.
//   each value        for each target other than its maker's that reads it: a copy, if that is another device, through
//                     the host if neither is the host; and a call of a delegate, as one begins where something enters.
//
// once for each iteration of the loops that the node is in, and the value's maker: a `while` is taken to run
// kWhileTurns times. Inputs and outputs are on the host or where the caller has them; what branches give and loops
// carry is on the host; a state is where that is cheapest. What no target takes is the program's own.
//
// A division that gains less than a tenth of the time that all would take on one target is not taken.
//
// Deterministic: choose_places.h says which of equal choices is taken.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/placement/device_costs.h"
#include "compiler/placement/options.h"

namespace berth::placement {

/// Of the time on one target alone: what a division among several has to gain, as the figures are not exact.
constexpr double kLeastGain = 0.1;

/// The targets of its method that a node may be given to, as indices into the method's Options::targets. Empty: none.
using Takers = IdVector<ir::NodeId, std::vector<int32_t>>;

/// What a method was estimated to take, in seconds of a run. Targets are the method's, by index.
struct MethodEstimate {
  IdVector<ir::NodeId, std::vector<double>> node;     // on each target; below 0: it cannot be there
  IdVector<ir::ValueId, std::vector<double>> enters;  // what it takes to each target that reads it; empty: nothing
  IdVector<ir::ValueId, double> leaves;               // the same for all of them, those on the host included
};

/// Of all methods that are placed by cost.
struct CostEstimate {
  std::vector<MethodEstimate> methods;                // by method; empty for those that are not placed by cost
  double seconds = 0;                                 // as they were placed
  std::vector<std::pair<std::string, double>> alone;  // by target: with all that it takes on this one
};

/// The target of each node that has takers, in `target`, by method: of methods with Options::by_cost. Failures as
/// find_device_io(). REQUIRES: Options::costs has all targets of these methods.
Expected<CostEstimate> choose_by_cost(const ir::Module& module, const Options& options,
                                      const std::vector<Takers>& takers,
                                      std::vector<IdVector<ir::NodeId, int32_t>*> target);

}  // namespace berth::placement
