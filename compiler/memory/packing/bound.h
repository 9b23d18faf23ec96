// The lower bound: how many bytes any plan takes at least.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/memory/packing/problem.h"

namespace berth::packing {

/// Of a problem of one space, the largest of
///   - the sum of the sizes that are alive in one step, less what candidates may save there: partners of a candidate
///     share at most the bytes of its overlap, so candidates that meet in one buffer save no more than its size;
///   - the same with every size and overlap rounded up to g, the smallest alignment of the buffers and candidates, less
///     the largest rounding of one buffer that is alive then, and would not lie within a partner: all offsets are
///     multiples of g, so only partners of a candidate share any of the cells of g bytes, and only the topmost cell may
///     end in a rounding;
///   - the end of each fixed buffer.
/// No choice of candidates makes a plan lower. O((n + m) log (n + m)). REQUIRES: check(problem) is ok.
int64_t lower_bound(const Problem& problem);

/// For each space of `problem`.
std::vector<int64_t> lower_bounds(const Problem& problem);

/// The buffers of one space that are alive in its fullest step, the largest first, and the step.
struct FullestStep {
  int64_t step = 0;
  int64_t bytes = 0;
  std::vector<int32_t> buffers;
};
FullestStep fullest_step(const Problem& problem, int32_t space);

}  // namespace berth::packing
