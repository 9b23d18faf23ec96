// A method's memory, planned and judged; and the order of its nodes, which is part of the same question.
#pragma once

#include <optional>

#include "compiler/emit/emit.h"
#include "compiler/emit/lifetimes.h"
#include "compiler/plan/plan.h"

namespace berth::emit {

/// What planning may do, and what it has taken: one for all methods and delegates of a program.
struct Planning {
  Planner planner = Planner::kBest;
  /// Whether nodes may run in another order (kBest only).
  bool reorder = true;
  /// Seconds for everything together; 0: as long as it takes. What is begun then ends with the best that it has.
  double time_limit = 0;
  double ms = 0;           // spent
  bool truncated = false;  // the limit cut something short
  /// No order of the nodes of any of them has a lower plan, with the results lent that are (lent_results.h).
  bool order_optimal = true;

  /// Seconds that are left: more than 0, or 0 when there is no limit.
  double seconds_left() const;
};

/// What `options` allow of aliases and of computing in place.
MemoryOptions memory_options(const EmitOptions& options);

/// The plan of `planning->planner`, which plan::validate accepted. Failures as the planner's, with the method and the
/// value that the storage was made for as their place.
Expected<plan::Plan> plan_method(const ir::Method& method, const Lifetimes& lifetimes, Planning* planning);

/// A method as it will be written.
struct PlannedMethod {
  /// The method with its nodes in another order, when that needs less memory.
  std::optional<ir::Method> reordered;
  Lifetimes lifetimes;
  plan::Plan plan;
  /// Bytes of all arenas that the order saves.
  int64_t saved_by_order = 0;
  /// Whether no order of the nodes has a plan that is lower.
  bool order_optimal = false;

  /// REQUIRES: `given` is the method that was planned.
  const ir::Method& in_order(const ir::Method& given) const { return reordered.has_value() ? *reordered : given; }
};

/// Lifetimes and plan of `method`; with `reorder` and the best planner also those with cuts first (cuts_first.h) and
/// those of the order that order_method.h finds. What is taken is decided by the placed arenas: another order only if
/// they are smaller. Failures as find_lifetimes() and plan_method().
Expected<PlannedMethod> plan_in_order(const ir::Module& module, const ir::Method& method, const MemoryOptions& memory,
                                      const std::vector<int64_t>& scratch_bytes, Planning* planning);

}  // namespace berth::emit
