// The lower bound: how many bytes any plan takes at least.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/plan/plan.h"

namespace berth::plan {

/// For each space the largest of
///   - the sum of the sizes that are alive in one step;
///   - the same with every size rounded up to g, the smallest alignment of the space's storages, less the largest
///     rounding of one storage that is alive then: all offsets are multiples of g, so all storages but the topmost keep
///     the next one at least a rounded size away;
///   - the end of each fixed storage.
/// O(n log n). REQUIRES: check(problem) is well.
std::vector<int64_t> lower_bounds(const Problem& problem);

/// Writes the bounds into plan->spaces. REQUIRES: as above, and one entry a space there.
void write_lower_bounds(const Problem& problem, Plan* plan);

}  // namespace berth::plan
