// SharedBytes: buffers that may lie in one another, divided so that each byte that two of them may share is counted
// once.
//
// A concatenation's parts may be computed where they belong in the whole, and slices may stay in theirs. Whether they
// do is the planner's choice, for each order anew. Let a whole w have parts p that are together no larger than it. When
// w is alive, it takes its bytes; when only parts are, they share none among each other. So in every plan these buffers
// take at least
//
//     for each part     its bytes while it or w is alive     shared: made with the first of the two, read by the
//                                                            readers of both
//     for w             the rest of its bytes while it is
//
// as whatever may share bytes with one of them, other than in place, is w or a part of it. A buffer for which that
// would not be so (a part of two wholes, a part that is a whole, slices that are together more than their whole) is
// left out altogether: then the others need no less.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/memory/scheduling/problem.h"

namespace berth::scheduling {

/// Buffer `part` may lie in the bytes of buffer `whole` while both are alive; a reader of one makes the other.
struct Containment {
  int32_t part = 0;
  int32_t whole = 0;
};

/// Bytes that are alive from when `producer` has run (-1: from the start) as long as one of its buffers is wanted.
struct SharedBytes {
  int64_t bytes = 0;
  int32_t producer = -1;
  int32_t buffers[2] = {-1, -1};  // the second may be -1
};

struct DividedBuffers {
  std::vector<SharedBytes> bytes;
  /// Of each buffer of the problem: indices into `bytes`. None when it was left out, or has no bytes.
  std::vector<std::vector<int32_t>> of;
};

/// REQUIRES: check(problem) is ok, and `containments` name buffers that are there.
DividedBuffers divide_buffers(const Problem& problem, const std::vector<Containment>& containments);

}  // namespace berth::scheduling
