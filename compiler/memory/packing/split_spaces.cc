#include "compiler/memory/packing/split_spaces.h"

namespace berth::packing {

std::vector<SpaceProblem> split_spaces(const Problem& problem) {
  std::vector<SpaceProblem> parts(problem.spaces.size());
  for (size_t s = 0; s < parts.size(); ++s) parts[s].problem.spaces = {problem.spaces[s]};
  std::vector<int32_t> number_in_part;
  number_in_part.reserve(problem.buffers.size());
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    SpaceProblem& part = parts[problem.buffers[i].space];
    number_in_part.push_back(static_cast<int32_t>(part.buffers.size()));
    part.problem.buffers.push_back(problem.buffers[i]);
    part.problem.buffers.back().space = 0;
    part.buffers.push_back(static_cast<int32_t>(i));
  }
  for (size_t i = 0; i < problem.candidates.size(); ++i) {
    Candidate candidate = problem.candidates[i];
    SpaceProblem& part = parts[problem.buffers[candidate.from].space];
    candidate.from = number_in_part[candidate.from];
    candidate.to = number_in_part[candidate.to];
    part.problem.candidates.push_back(candidate);
    part.candidates.push_back(static_cast<int32_t>(i));
  }
  return parts;
}

}  // namespace berth::packing
