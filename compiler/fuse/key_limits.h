// What a mask says of attention over a cache: which keys each query sees.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

/// Query i sees the keys j with before[i] < j <= last[i]; invalid values: no such end. Each has an i64 for each query,
/// or one for all.
struct KeyLimits {
  ir::ValueId last;
  ir::ValueId before;
};

/// Whether the bool `mask`, true where a query sees a key, with the keys last and the queries before them, is made of
/// comparisons of the keys' numbers, 0 to keys - 1, with a number of each query: `keys <= x`, `x >= keys`, `keys > x`,
/// `x < keys`; their conjunctions, with what is true; or rows that indices pick of a constant triangle.
bool read_key_limits(const Context& context, ir::ValueId mask, ir::Dim queries, ir::Dim keys, KeyLimits* limits);

}  // namespace berth::fuse
