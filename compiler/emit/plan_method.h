// A method's memory, planned and judged.
#pragma once

#include "compiler/emit/emit.h"
#include "compiler/emit/lifetimes.h"
#include "compiler/plan/plan.h"

namespace berth::emit {

/// The plan of `planner`, which plan::validate accepted. The time that planning took is added to `*ms`. Failures as the
/// planner's, with the method and the value that the storage was made for as their place.
Expected<plan::Plan> plan_method(const ir::Method& method, const Lifetimes& lifetimes, Planner planner, double* ms);

}  // namespace berth::emit
