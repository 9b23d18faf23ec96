// The memory of one call of a delegate: a plan of its own, whose first arena is a scratch that the plan around it
// places like any other buffer.
#pragma once

#include <string>

#include "compiler/memory/plan_schedule.h"
#include "compiler/memory/region_module.h"

namespace berth::memory {

/// A scratch over 2 GiB is a tensor of two dimensions, the inner one of this size.
inline constexpr int64_t kScratchRow = int64_t{1} << 20;

/// The memory of a call whose region is compiled here.
struct DelegatePlan {
  ir::NodeId call;
  RegionModule region;
  MethodPlan plan;  // of the region's one method
  /// Of the scratch as a tensor in the method around.
  int64_t scratch_bytes = 0;
  /// Inputs and outputs of the call that lie in the scratch (scratch_ports.h).
  ScratchPorts scratch_ports;
  /// What the scratch would take if nothing lay in the bytes of results.
  int64_t own_scratch_bytes = 0;
  /// How many inputs it changes in place, as they are state (delegate_state.h).
  size_t state_ports = 0;
};

/// What addresses in the method's arenas are multiples of: `least`, and what the backends of the delegates that it
/// calls ask for (base/backend_facts.h).
Alignments alignments_of(const ir::Module& module, const ir::Method& method, const Alignments& least);

/// `failure` in `call`, a node of `method` that calls a delegate: the method and the delegate come before its place.
Failure in_delegate_call(const ir::Module& module, const ir::Method& method, const ir::Node& call,
                         const Failure& failure);

/// Plans the region of `call`, whose delegate has no payload. Inputs that may lie in the scratch do; the plan around it
/// has to have them there, or ask again without MemoryOptions::inputs_in_scratch. Outputs that may lie in the scratch
/// do where that takes fewer bytes than both apart. Where none may, outputs hold, until they are first written, what is
/// dead by then, if that makes the scratch smaller (output_scratch.h).
///
/// Failures as region_module() and plan_schedule(), OutOfResources for a scratch that no tensor can be.
Expected<DelegatePlan> plan_delegate(const ir::Module& module, const ir::Method& method, ir::NodeId call,
                                     const MemoryOptions& options);

}  // namespace berth::memory
