// A loop over the first dimension of tensors, as a berth::scan: what a number of steps that is open, or large, becomes.
#pragma once

#include <functional>

#include "compiler/import/lowering/lowering.h"

namespace berth::lowering {

/// One step: gets the slices of what is looped over, changes `states`, and returns what is stacked.
using StepBody = std::function<ValueId(const ValueList& slices, ValueList& states)>;

struct LoopResults {
  ValueId stacked;   // [length, …]
  ValueList states;  // after the last step
};

/// Loops over `sliced`, tensors [length, …]; `states` must keep their types.
LoopResults loop_over(Lowering& n, Dim length, const ValueList& sliced, const ValueList& states, const StepBody& body);

}  // namespace berth::lowering
