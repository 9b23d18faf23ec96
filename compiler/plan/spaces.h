// Spaces: a problem of several is as many problems of one.
#pragma once

#include <functional>

#include "compiler/plan/layout.h"

namespace berth::plan {

/// A problem of one space, cut out of one of several.
struct SpaceProblem {
  Problem problem;
  std::vector<int32_t> storages;  // of each of its storages: the number in the whole problem
  std::vector<int32_t> merges;    // likewise
};

/// REQUIRES: check(problem) is well.
std::vector<SpaceProblem> split_spaces(const Problem& problem);

/// A plan in which each space is placed by `place`, without any merge, with the lower bounds of bound.h.
/// REQUIRES: check(problem) and check_fixed(problem) are well.
Plan plan_each_space(const Problem& problem, const std::function<void(const Layout&, Placement*)>& place);

}  // namespace berth::plan
