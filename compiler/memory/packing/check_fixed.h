// Whether the buffers whose offsets are given can lie where they are said to.
#pragma once

#include "base/failure.h"
#include "compiler/memory/packing/problem.h"

namespace berth::packing {

/// InvalidArgument with the first buffer whose fixed offset collides with that of another, which it is alive with;
/// candidates are not looked at: partners of one may lie in each other. O(p) for p such pairs.
Status check_fixed(const Problem& problem);

}  // namespace berth::packing
