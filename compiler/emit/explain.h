// What the planner did with a method's values, a line each: `--why reuse`.
#pragma once

#include <string>
#include <vector>

#include "compiler/emit/lifetimes.h"
#include "compiler/plan/plan.h"

namespace berth::emit {

/// Appends, for each value that a node makes, in order:
///
///     reuse: forward: %y (aten::relu, Relu_3): reuse %x
///     reuse: forward: %z (aten::add): keep: %a still-read, %b size-differs
///     reuse: forward: %v (aten::view_copy): view %z
///     reuse: forward: %s (aten::softmax): reuse state @cache
///     reuse: forward: %c (aten::cat): parts in place    and "part in place" of slices: no instruction
///     reuse: forward: %c (aten::relu): keep: other-choice      the planner was offered it and does without
///     reuse: forward: %v (aten::view_copy): keep: order-differs      why it is no view (ViewReason)
///
/// REQUIRES: the method is the module's.
void explain_reuse(const ir::Module& module, const ir::Method& method, const Lifetimes& lifetimes,
                   const plan::Plan& plan, std::vector<std::string>* lines);

}  // namespace berth::emit
