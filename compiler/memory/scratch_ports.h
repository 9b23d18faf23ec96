// Inputs and outputs of a delegate's call that lie in its scratch: what the call reads for the last time, and nothing
// else reads, and what it makes, are part of the memory in which the delegate works
// (docs/decisions/0026-ports-in-the-scratch.md).
//
//     bytes ^
//           |  . . T T T y y y y    the scratch of the call: T and U are temporaries of the nested program.
//           |  x x x x U U V V .    x is made before the call, in the scratch, and is dead when its last reader in the
//           +-------------------> time   nested program has run: V lies in its bytes. The output y lies where T was,
//                 |<- call ->            and is read after the call.
//
// The nested program plans such ports like its temporaries. In the plan around it, each such input is an alias
// candidate: x may share bytes with the scratch, at that offset. The candidates must be taken; where the planner leaves
// one, the call is planned anew, with its inputs elsewhere (plan_memory.cc). Such an output is a name of the scratch's
// bytes, which are then in use as long as it is.
#pragma once

#include <vector>

#include "compiler/memory/model.h"

namespace berth::memory {

/// The inputs of `call`, a node of `method` that calls a delegate whose region is compiled here, that may lie in its
/// scratch. Several may lie anywhere in it, a single one at its front, where other buffers that begin with it may begin
/// as well. A single one, too, where sizes change in `region`, the region as a method: an offset behind others would
/// move with them. Empty when `options` do not allow it.
std::vector<ScratchPort> inputs_for_scratch(const ir::Module& module, const ir::Method& method, ir::NodeId call,
                                            const ir::Method& region, const MemoryOptions& options);

/// The outputs of `call` that may lie in its scratch, anywhere. `usable`: results_usable_as_scratch(). None where sizes
/// change in `region`, and where `options` do not allow it.
std::vector<ScratchPort> outputs_for_scratch(const ir::Method& method, ir::NodeId call, const ir::Module& region,
                                             const std::vector<bool>& usable, const MemoryOptions& options);

/// `inputs` at the front of the scratch of `region`, at multiples of `alignment`, one behind the other.
std::vector<ScratchPort> at_front(std::vector<ScratchPort> inputs, const ir::Method& region, const ir::Symbols& symbols,
                                  int64_t alignment);

/// The same ports where the plan of `model`, the region's, has them.
ScratchPorts as_placed(ScratchPorts ports, const MemoryModel& model, const packing::Plan& plan);

/// Whether each output of Buffers::scratch_ports, which has `inputs` inputs before them, has bytes of its own: one may
/// be a view of the other, or its part. `model` and `plan` are the region's.
bool are_outputs_apart(const MemoryModel& model, const packing::Plan& plan, size_t inputs);

/// Those of a delegate of Berth's that was compiled before: what its nested program has in its scratch.
ScratchPorts ports_in_scratch_of(const ir::Delegate& delegate);

/// Adds copies to `module`: an input that a delegate of Berth's, which was compiled before, has in its scratch, and
/// that is read elsewhere too or is not in an arena, is copied for the call. `options`: one for each method.
void copy_scratch_inputs(ir::Module* module, const std::vector<MemoryOptions>& options);

/// Buffers::scratch_ports of `ports`, of `method`, which is that of a region module: inputs, then outputs. The buffer
/// of an output that has none is invalid.
std::vector<ScratchPortBuffer> scratch_port_buffers(const ir::Method& method, const ScratchPorts& ports,
                                                    const Aliases& aliases);

/// The candidates for the inputs of MemoryOptions::scratch_ports. Those that cannot be, as an input has no buffer of
/// its own, are left out.
AliasCandidates find_scratch_inputs(const ir::Module& module, const ir::Method& method, const MemoryOptions& options,
                                    const Liveness& live);

/// The call whose inputs do not all lie in the scratch although they must; invalid when there is none.
ir::NodeId call_with_inputs_elsewhere(const MemoryOptions& options, const MemoryModel& model,
                                      const packing::Plan& plan);

}  // namespace berth::memory
