// Copies elements from one dimension order to another.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/span.h"

namespace berth {

/// Copies a tensor of `sizes` whose dimensions lie in memory in the order `from` to one in the order `to`, outermost
/// first; an empty order is row-major. REQUIRES: orders are permutations of the dimensions, at most kMaxRank of them;
/// the two ranges hold product(sizes) elements of `element` bytes and do not overlap.
void copy_to_dim_order(const void* source, Span<const uint8_t> from, void* target, Span<const uint8_t> to,
                       Span<const int32_t> sizes, size_t element);

/// Whether both orders lay out every tensor of `rank` dimensions in the same way; an empty order is row-major.
bool same_dim_order(Span<const uint8_t> a, Span<const uint8_t> b, size_t rank);

}  // namespace berth
