// The part of a graph that a delegate runs, as a module of its own.
#pragma once

#include <vector>

#include "compiler/ir/module.h"

namespace berth::memory {

struct RegionModule {
  /// One method, "delegate", whose inputs and outputs are the region's. It says no device: all of it is local to the
  /// delegate's. Symbols are those of the module around it.
  ir::Module module;
  IdVector<ir::ConstantId, ir::ConstantId> constants;  // by those of `module`: the ids in the module around it
};

/// The region of `call`, a node of `method` that calls a delegate. The order of nodes, and so the schedule, is the
/// region's. NotSupported for nodes that a nested program cannot hold: state, delegates, copies between devices.
/// InvalidArgument when the region mentions a value from outside that is no constant, or when there is no region.
Expected<RegionModule> region_module(const ir::Module& module, const ir::Method& method, const ir::Node& call);

}  // namespace berth::memory
