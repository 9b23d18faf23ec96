// Cuts first: slices, selections and splits of a tensor right behind it, so that its bytes are given back row by row.
//
//     w = …                                w = …
//     r0 = select(w, 0)                    r0 = select(w, 0)
//     … r0 …                               r1 = select(w, 1)
//     r1 = select(w, 1)                    … r0 …                 r0's bytes are free from here on
//     … r1 …                               … r1 …
//
// Where parts stay in their whole (slots.h) a cut costs nothing and takes no bytes, but it reads the whole: on the left
// all of w is alive until the last cut, on the right each row until it has been used.
#pragma once

#include <optional>

#include "compiler/ir/module.h"

namespace berth::emit {

struct Lifetimes;

/// `method` with each cut that was offered a slot as early as its whole is there; nothing when all are already.
/// REQUIRES: `lifetimes` are the method's.
std::optional<ir::Method> with_cuts_first(const ir::Method& method, const Lifetimes& lifetimes);

}  // namespace berth::emit
