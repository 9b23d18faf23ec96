// Which target runs which node: the user's word first, then the parts of a split, then the order of the targets.
#pragma once

#include <vector>

#include "base/failure.h"
#include "compiler/ir/module.h"
#include "compiler/place/options.h"

namespace berth::place {

/// Of one method; each list has an entry a node of the method.
struct Assignment {
  std::vector<int32_t> target;          // index into Options::targets, -1: none
  std::vector<targets::Answer> answer;  // kTakes, or why the most preferred target does not
  std::vector<bool> asked;              // the user said so
};

/// Asks for every operator of every method, those in branches and loops included, the regions of delegates left out.
/// State, copies and calls of delegates belong to nobody and are like no rule. InvalidArgument for a rule that is like
/// no node; for a node that was asked to run on a device where no target takes it, with the reason; for a device that
/// no target is on.
Expected<std::vector<Assignment>> assign(const ir::Module& module, const Options& options);

}  // namespace berth::place
