// Splits a problem of several spaces into one problem for each space.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/memory/packing/problem.h"

namespace berth::packing {

/// The part of a problem that belongs to one space.
struct SpaceProblem {
  Problem problem;
  std::vector<int32_t> buffers;     // of each of its buffers: the number in the whole problem
  std::vector<int32_t> candidates;  // likewise
};

/// REQUIRES: check(problem) is ok.
std::vector<SpaceProblem> split_spaces(const Problem& problem);

}  // namespace berth::packing
