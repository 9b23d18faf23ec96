// Sub-buffers: a concatenation whose parts are computed where they belong in the whole, and slices that stay where they
// are in theirs, so that neither copies.
//
//     c = cat([a, b])            a and b are computed into c's bytes; no instruction
//     a, b = split(x)            a and b are names of x's bytes; no instruction; what follows a may go when a is dead
//     y = slice(x), select(x)    the same
//
// It takes that every size is known, each part is one piece of the whole (all dimensions before the one that is cut or
// joined are 1), and all parts do: a concatenation of which one part cannot is computed. Parts start at multiples of
// their element; those that a delegate reads or gives, and all where arenas ask for more than 16, at multiples of 16.
// The planner decides, as in in_place.h: a candidate that is taken keeps what overlaps apart from everything else that
// is alive.
#pragma once

#include "compiler/memory/alias_candidates.h"
#include "compiler/memory/model.h"

namespace berth::memory {

/// The candidates of all nodes that join or cut tensors (ir::Operator::joins_or_cuts), and why the others have none.
/// REQUIRES: `live` is the method's.
AliasCandidates find_sub_buffers(const ir::Module& module, const ir::Method& method, const MemoryOptions& options,
                                 const Liveness& live);

}  // namespace berth::memory
