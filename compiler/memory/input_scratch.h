// Inputs of a delegate's call that lie in its scratch: what the call reads for the last time, and nothing else reads,
// becomes part of the memory in which the delegate works (docs/decisions/0026-inputs-in-the-scratch.md).
//
//     bytes ^
//           |  . . T T T U U .     the scratch of the call: T and U are temporaries of the nested program.
//           |  x x x x U U V V     x is made before the call, in the scratch, and is dead when its last reader in the
//           +-----------------> time    nested program has run: V lies in its bytes.
//                 |<- call ->
//
// The nested program plans such inputs like its temporaries. In the plan around it, each is an alias candidate: x may
// share bytes with the scratch, at that offset. The candidates must be taken; where the planner leaves one, the call is
// planned anew, with its inputs elsewhere (plan_memory.cc).
#pragma once

#include <vector>

#include "compiler/memory/model.h"

namespace berth::memory {

/// The inputs of `call`, a node of `method` that calls a delegate whose region is compiled here, that may lie in its
/// scratch. Several may lie anywhere in it, a single one at its front, where other buffers that begin with it may begin
/// as well. A single one, too, where sizes change in `region`, the region as a method: an offset behind others would
/// move with them. Empty when `options` do not allow it.
std::vector<ScratchInput> inputs_for_scratch(const ir::Module& module, const ir::Method& method, ir::NodeId call,
                                             const ir::Method& region, const MemoryOptions& options);

/// The same at the front of the scratch of `region`, at multiples of `alignment`, one behind the other.
std::vector<ScratchInput> at_front(std::vector<ScratchInput> inputs, const ir::Method& region,
                                   const ir::Symbols& symbols, int64_t alignment);

/// The same where the plan of `model`, the region's, has them.
std::vector<ScratchInput> as_placed(std::vector<ScratchInput> inputs, const MemoryModel& model,
                                    const packing::Plan& plan);

/// The same of a delegate of Berth's that was compiled before: those that its nested program has in its scratch.
std::vector<ScratchInput> inputs_in_scratch_of(const ir::Delegate& delegate);

/// Adds copies to `module`: an input that a delegate of Berth's, which was compiled before, has in its scratch, and
/// that is read elsewhere too or is not in an arena, is copied for the call. `options`: one for each method.
void copy_scratch_inputs(ir::Module* module, const std::vector<MemoryOptions>& options);

/// Buffers::scratch_inputs: those of `inputs`, of `method`, which is that of a region module, in their order.
std::vector<ScratchInputBuffer> scratch_input_buffers(const ir::Method& method, const std::vector<ScratchInput>& inputs,
                                                      const Aliases& aliases, const Buffers& buffers);

/// The candidates for MemoryOptions::scratch_inputs. Those that cannot be, as an input has no buffer of its own, are
/// left out.
AliasCandidates find_scratch_inputs(const ir::Module& module, const ir::Method& method, const MemoryOptions& options,
                                    const Liveness& live);

/// The call whose inputs do not all lie in the scratch although they must; invalid when there is none.
ir::NodeId call_with_inputs_elsewhere(const MemoryOptions& options, const MemoryModel& model,
                                      const packing::Plan& plan);

}  // namespace berth::memory
