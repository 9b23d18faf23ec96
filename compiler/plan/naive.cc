#include "compiler/plan/naive.h"

#include <algorithm>

#include "base/math.h"
#include "compiler/plan/bound.h"

namespace berth::plan {

Expected<Plan> plan_naive(const Problem& problem) {
  BERTH_TRY(check(problem));
  Plan plan;
  plan.offsets.resize(problem.storages.size(), 0);
  plan.spaces.resize(problem.spaces.size());
  for (const Storage& storage : problem.storages) {
    if (storage.fixed == kAnywhere || storage.size == 0) continue;
    int64_t& height = plan.spaces[static_cast<size_t>(storage.space)].height;
    height = std::max(height, storage.fixed + storage.size);
  }
  for (size_t i = 0; i < problem.storages.size(); ++i) {
    const Storage& storage = problem.storages[i];
    int64_t& height = plan.spaces[static_cast<size_t>(storage.space)].height;
    if (storage.fixed != kAnywhere) {
      plan.offsets[i] = storage.fixed;
    } else if (storage.size > 0) {
      plan.offsets[i] = align_up(height, storage.alignment);
      height = plan.offsets[i] + storage.size;
    }
  }
  write_lower_bounds(problem, &plan);
  return plan;
}

}  // namespace berth::plan
