// A method's memory, planned and judged; and the order of its nodes, which is part of the same question.
#pragma once

#include <optional>

#include "compiler/emit/emit.h"
#include "compiler/emit/lifetimes.h"
#include "compiler/plan/plan.h"

namespace berth::emit {

/// The plan of `planner`, which plan::validate accepted. The time that planning took is added to `*ms`. Failures as the
/// planner's, with the method and the value that the storage was made for as their place.
Expected<plan::Plan> plan_method(const ir::Method& method, const Lifetimes& lifetimes, Planner planner, double* ms);

/// A method as it will be written.
struct PlannedMethod {
  /// The method with its nodes in another order, when that needs less memory.
  std::optional<ir::Method> reordered;
  Lifetimes lifetimes;
  plan::Plan plan;
  /// Bytes of all arenas that the order saves.
  int64_t saved_by_order = 0;

  /// REQUIRES: `given` is the method that was planned.
  const ir::Method& in_order(const ir::Method& given) const { return reordered.has_value() ? *reordered : given; }
};

/// Lifetimes and plan of `method`; with `reorder` and the best planner also those of the order that order_method.h
/// finds. What is taken is decided by the placed arenas: the other order only if they are smaller. Failures as
/// find_lifetimes() and plan_method().
Expected<PlannedMethod> plan_in_order(const ir::Module& module, const ir::Method& method, const MemoryOptions& memory,
                                      const std::vector<int64_t>& scratch_bytes, Planner planner, bool reorder,
                                      double* ms);

}  // namespace berth::emit
