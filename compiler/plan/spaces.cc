#include "compiler/plan/spaces.h"

#include "compiler/plan/bound.h"

namespace berth::plan {

std::vector<SpaceProblem> split_spaces(const Problem& problem) {
  std::vector<SpaceProblem> parts(problem.spaces.size());
  for (size_t s = 0; s < parts.size(); ++s) parts[s].problem.spaces = {problem.spaces[s]};
  std::vector<int32_t> number_in_part;
  number_in_part.reserve(problem.storages.size());
  for (size_t i = 0; i < problem.storages.size(); ++i) {
    SpaceProblem& part = parts[static_cast<size_t>(problem.storages[i].space)];
    number_in_part.push_back(static_cast<int32_t>(part.storages.size()));
    part.problem.storages.push_back(problem.storages[i]);
    part.problem.storages.back().space = 0;
    part.storages.push_back(static_cast<int32_t>(i));
  }
  for (size_t i = 0; i < problem.merges.size(); ++i) {
    Merge merge = problem.merges[i];
    SpaceProblem& part = parts[static_cast<size_t>(problem.storages[static_cast<size_t>(merge.from)].space)];
    merge.from = number_in_part[static_cast<size_t>(merge.from)];
    merge.to = number_in_part[static_cast<size_t>(merge.to)];
    part.problem.merges.push_back(merge);
    part.merges.push_back(static_cast<int32_t>(i));
  }
  return parts;
}

Plan plan_each_space(const Problem& problem, const std::function<void(const Layout&, Placement*)>& place) {
  Plan plan;
  plan.offsets.assign(problem.storages.size(), 0);
  plan.spaces.resize(problem.spaces.size());
  plan.merged.assign(problem.merges.size(), false);
  const std::vector<SpaceProblem> parts = split_spaces(problem);
  for (size_t s = 0; s < parts.size(); ++s) {
    const Layout layout = make_layout(parts[s].problem);
    Placement placement;
    place(layout, &placement);
    const std::vector<int64_t> offsets = offsets_of(parts[s].problem, layout, placement);
    for (size_t i = 0; i < offsets.size(); ++i) plan.offsets[static_cast<size_t>(parts[s].storages[i])] = offsets[i];
    plan.spaces[s].height = placement.height;
    plan.spaces[s].lower_bound = lower_bound(parts[s].problem);
  }
  return plan;
}

}  // namespace berth::plan
