// The lower bound: how many bytes any plan takes at least.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/plan/problem.h"

namespace berth::plan {

/// Of a problem of one space, the largest of
///   - the sum of the sizes that are alive in one step, less what merges may save there: partners of a merge share at
///     most the bytes of its overlap, so merges that meet in one storage save no more than its size;
///   - the same with every size and overlap rounded up to g, the smallest alignment of the storages and merges, less
///     the largest rounding of one storage that is alive then: all offsets are multiples of g, so only partners of a
///     merge share any of the cells of g bytes, and only the topmost cell may end in a rounding;
///   - the end of each fixed storage.
/// No choice of merges makes a plan lower. O((n + m) log (n + m)). REQUIRES: check(problem) is well.
int64_t lower_bound(const Problem& problem);

/// For each space of `problem`.
std::vector<int64_t> lower_bounds(const Problem& problem);

/// The storages of one space that are alive in its fullest step, the largest first, and the step.
struct FullestStep {
  int64_t step = 0;
  int64_t bytes = 0;
  std::vector<int32_t> storages;
};
FullestStep fullest_step(const Problem& problem, int32_t space);

}  // namespace berth::plan
