// What the planner did with a method's values, a line each: `--why reuse`.
#pragma once

#include <string>
#include <vector>

#include "compiler/memory/plan_memory.h"

namespace berth::memory {

/// Appends, for each value that a node of the planned methods makes, in order:
///
///     reuse: forward: %y (aten::relu, Relu_3): reuse %x
///     reuse: forward: %z (aten::add): keep: %a still-read, %b size-differs
///     reuse: forward: %v (aten::view_copy): view %z
///     reuse: forward: %s (aten::softmax): reuse state @cache
///     reuse: forward: %c (aten::cat): parts in place    and "part in place" of slices: no instruction
///     reuse: forward: %c (aten::relu): keep: other-choice      it was a candidate that the planner did not take
///     reuse: forward: %v (aten::view_copy): keep: order-differs      why it is not a view (ViewReason)
///
/// REQUIRES: `plans` are of the module's methods.
void remark_reuse(const ir::Module& module, const std::vector<MemoryPlan>& plans, std::vector<std::string>* lines);

}  // namespace berth::memory
