#include "compiler/memory/packing/plan_each_space.h"

#include "compiler/memory/packing/bound.h"
#include "compiler/memory/packing/split_spaces.h"

namespace berth::packing {

Plan plan_each_space(const Problem& problem, const std::function<Placement(const Layout&)>& place) {
  Plan plan;
  plan.offsets.assign(problem.buffers.size(), 0);
  plan.spaces.resize(problem.spaces.size());
  plan.taken.assign(problem.candidates.size(), false);
  const std::vector<SpaceProblem> parts = split_spaces(problem);
  for (size_t s = 0; s < parts.size(); ++s) {
    const Layout layout = make_layout(parts[s].problem);
    const Placement placement = place(layout);
    const std::vector<int64_t> offsets = offsets_of(parts[s].problem, layout, placement);
    for (size_t i = 0; i < offsets.size(); ++i) plan.offsets[parts[s].buffers[i]] = offsets[i];
    plan.spaces[s].height = placement.height;
    plan.spaces[s].lower_bound = lower_bound(parts[s].problem);
  }
  return plan;
}

}  // namespace berth::packing
