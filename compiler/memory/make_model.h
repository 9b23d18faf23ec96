// The memory model of a method, and the packing problem that it is to the planner.
#pragma once

#include "compiler/memory/model.h"

namespace berth::memory {

/// The model of `method`. `scratch_bytes`: of each node of the method, what its delegate needs at each call; empty says
/// 0 everywhere.
///
/// Each buffer lies on the device of its values. What the caller owns has no buffer: inputs and outputs that live on a
/// device, and all of them where the options say so (the nested program of a delegate). An output of the caller's has
/// bytes of its own; where the method has the value elsewhere already, it is copied there at the end. Outputs that are
/// used as scratch have a buffer each, which then lies where output_scratch.h says.
///
/// A new value of state is computed into the state's bytes where nothing reads the old one after that
/// (state_in_place.h); it is copied there at the end elsewhere. What an operator with a RESHAPE row makes is a view: it
/// has its input's bytes under another shape and costs no instruction (when a dimension is a symbol: one that sets the
/// sizes), except where ViewReason names a reason.
///
/// NotSupported for nodes that write their argument, and in branches and loops for numbers that cross their borders and
/// for writes of state; OutOfResources for a tensor over 2^58 bytes. The failure's place names the method and
/// the node or value.
Expected<MemoryModel> make_model(const ir::Module& module, const ir::Method& method, const MemoryOptions& options = {},
                                 const IdVector<ir::NodeId, int64_t>& scratch_bytes = {});

/// The buffers and the candidates of the model, in their order; guards of outputs that are used as scratch follow.
packing::Problem packing_problem(const MemoryModel& model);

}  // namespace berth::memory
