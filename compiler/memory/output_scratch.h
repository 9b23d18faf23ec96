// Output buffers used as scratch until they are first written: values of a delegate's nested program that are dead
// before a result is made may lie in the result's bytes (docs/decisions/0006-results-as-scratch.md).
//
// The planner sees one line of bytes: the results one after the other, each at a fixed place and alive from its making
// to the end, a permanently live guard after each, and then the scratch, as long as it takes:
//
//     bytes ^
//           |  T T T T T T T T    T is needed while R is made: it lies in the scratch
//           |  # # # # # # # #    the guard: nothing may lie half in the result and half in the scratch, which are far
//           |  A A B B . R R R    from each other when the program runs
//           +--------------------> time
//
// So whatever planner there is decides who lies where, in-place and concatenations included, and the height above the
// last guard is the scratch. Afterwards the line is cut into the arenas of the file.
#pragma once

#include <vector>

#include "compiler/memory/model.h"

namespace berth::memory {

/// Of each result of `call`, a node of the method that calls a delegate: whether the delegate may use its bytes before
/// it writes it. Not those in memory of the caller's, which may lie anywhere, at any time elsewhere; nor those that may
/// become parts of a concatenation or rows of a stack, whose addresses are not as aligned as the scratch; nor what may
/// become the next value of state, which a run that fails should leave as it was.
std::vector<bool> results_usable_as_scratch(const ir::Method& method, const ir::Node& call,
                                            const CallersMemory& callers);

/// Buffers::output_scratch. `usable`: of each value, whether it is an output that may be used as scratch.
std::vector<BufferId> scratch_buffers(const ir::Method& method, const IdVector<ir::ValueId, bool>& usable,
                                      const Aliases& aliases, const Buffers& buffers);

/// Lays out the line: the outputs of `model` that are used as scratch become fixed in its problem, and guards follow
/// all other buffers; inputs that have a place in the scratch become fixed there (scratch_ports.h). REQUIRES: there is
/// one arena, if there are such outputs; then all inputs in the scratch have a place.
void add_output_scratch(const MemoryModel& model, packing::Problem* problem);

/// A model and its plan.
struct PackedModel {
  MemoryModel model;
  packing::Plan plan;
};

/// The bytes of all guards: every plan of `model` has them in its arena, beside what its own buffers need. 0 when no
/// output is used as scratch.
int64_t guard_bytes(const MemoryModel& model);

/// Cuts the line: arena 1 is the scratch, arena 2 + k the bytes of output k, and the guards are gone. The same when no
/// output is used as scratch.
PackedModel split_output_scratch(MemoryModel model, packing::Plan plan);

/// Whether a node makes `value` that calls a delegate of Berth's which was compiled before and has other values in the
/// bytes of this result until it writes it: then it is planned, and copied to where the caller wants it.
bool payload_uses_as_scratch(const ir::Module& module, const ir::Method& method, ir::ValueId value);

}  // namespace berth::memory
