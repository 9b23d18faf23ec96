// Moving elements between two layouts of the same index space: permutations, expansions, slices, changes of the
// dimension order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/portable/iterate.h"

namespace berth::portable {

/// Copies operand 1 of the walk to operand 0, both of `element_bytes` (1, 2, 4 or 8) bytes an element, on the context's
/// threads. The walk should go in the memory order of the target. Transpositions go by tiles that fit the cache.
/// REQUIRES: walk.operands == 2; target and source do not overlap.
void copy_strided(KernelContext& context, const Walk& walk, void* target, const void* source, size_t element_bytes);

}  // namespace berth::portable
