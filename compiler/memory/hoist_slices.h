// Hoists slices, selections and splits to just after their source, so that each row's bytes are freed after its last
// use.
//
//     w = …                                w = …
//     r0 = select(w, 0)                    r0 = select(w, 0)
//     … r0 …                               r1 = select(w, 1)
//     r1 = select(w, 1)                    … r0 …                 r0's bytes are free from here on
//     … r1 …                               … r1 …
//
// Where parts stay in their whole (sub_buffers.h) a cut costs nothing and takes no bytes, but it reads the whole: on
// the left all of w is alive until the last cut, on the right each row until it has been used.
#pragma once

#include <optional>

#include "compiler/memory/model.h"

namespace berth::memory {

/// `method` with each cut that may stay in its whole as early as that is there; nothing when all are already.
/// REQUIRES: `candidates` are the method's.
std::optional<ir::Method> hoist_slices(const ir::Method& method, const AliasCandidates& candidates);

}  // namespace berth::memory
