// Splits a problem of several spaces into one problem for each space.
#pragma once

#include <functional>

#include "compiler/memory/packing/layout.h"

namespace berth::packing {

/// The part of a problem that belongs to one space.
struct SpaceProblem {
  Problem problem;
  std::vector<int32_t> buffers;     // of each of its buffers: the number in the whole problem
  std::vector<int32_t> candidates;  // likewise
};

/// REQUIRES: check(problem) is ok.
std::vector<SpaceProblem> split_spaces(const Problem& problem);

/// A plan in which each space is placed by `place`, without any candidate, with the lower bounds of bound.h. REQUIRES:
/// check(problem) and check_fixed(problem) are ok.
Plan plan_each_space(const Problem& problem, const std::function<void(const Layout&, Placement*)>& place);

}  // namespace berth::packing
