// In place: which results may be computed into the bytes of an input, by conditions under which no kernel, ours or
// ExecuTorch's, on however many threads, reads what it has overwritten.
//
// An operator's row (format/operators.def) names its class and the arguments:
//   element   the result and that input have the same element size, sizes (as symbols too) and dimension order; so the
//             input is not the one that is broadcast. Of a list of tensors, each
//   row       the same; a whole row is read before it is written
//   self      the same; only the argument that the operator is written to change
// An operator of one's own has no row: its maker, or the caller, names arguments of class element. A call of a nested
// program that does nothing but make narrower elements of its one input may put them at the input's front
// (format/narrowing.h), where berth::elementwise may be in place.
//
// In each case the input fills a place in an arena, of the result's device, read for the last time by this node through
// every name that they have, and only by arguments that the row allows. A planned input of the method may be
// overwritten: each run sets it again. Constants, what the caller owns, state and outputs are never overwritten.
//
// What passes is a candidate: which of several results takes a buffer is the planner's choice.
#pragma once

#include "compiler/memory/alias_candidates.h"
#include "compiler/memory/model.h"

namespace berth::memory {

/// The candidates of all nodes but concatenations and slices, and a remark for each of their arguments.
AliasCandidates find_in_place(const ir::Module& module, const ir::Method& method, const MemoryOptions& options,
                              const Liveness& live);

/// May the result of `node` be in the bytes of `input`, which is argument `k` or in the list that it is, whatever may
/// read them later? kReuse, or a reason that has nothing to do with live ranges. For state, which is never dead
/// (state_in_place.h).
ReuseReason kernel_allows(const ir::Module& module, const ir::Method& method, const ir::Node& node, int32_t k,
                          ir::ValueId input, const InPlaceSet& set, const Aliases& aliases);

}  // namespace berth::memory
