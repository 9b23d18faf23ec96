// The schedule of a method and the plan of its memory: they are one question, as the execution order determines what is
// live at once.
#pragma once

#include <optional>
#include <vector>

#include "compiler/memory/banks.h"
#include "compiler/memory/model.h"

namespace berth::memory {

/// What planning took.
struct PlanningCost {
  double ms = 0;           // spent in planners and in the search for a schedule
  bool truncated = false;  // the time limit cut something short

  PlanningCost& operator+=(const PlanningCost& other);
};

/// Seconds that are left of `time_limit`: more than 0, or 0 when there is no limit.
double seconds_left(double time_limit, const PlanningCost& spent);

/// What a run of a method takes by MemoryOptions::overlap.
struct RunTime {
  std::vector<scheduling::TaskTime> times;  // of the body's nodes, in their order
  scheduling::Timeline timeline;
  scheduling::TimeBounds bounds;
  int64_t least_memory = 0;  // nanoseconds in the order of the least memory
  int64_t bytes = 0;         // of all arenas, more than that order takes
};

/// A method with its schedule, and where its buffers lie.
struct MethodPlan {
  /// The method with its nodes in another order, when that needs less memory.
  std::optional<ir::Method> rescheduled;
  MemoryModel model;
  packing::Plan packing;
  /// Bytes of all arenas that the order saves.
  int64_t saved_by_schedule = 0;
  /// Whether no order of the nodes has a plan that is lower.
  bool schedule_optimal = false;
  PlanningCost cost;
  std::vector<BankCost> bank_costs;  // of each device with banks (banks.h)
  std::optional<RunTime> run_time;   // where MemoryOptions::overlap says what nodes take

  /// REQUIRES: `given` is the method that was planned.
  const ir::Method& scheduled(const ir::Method& given) const { return rescheduled.has_value() ? *rescheduled : given; }
};

/// Model and plan of `method`, which packing::validate accepted; with MemoryOptions::reorder and the best planner also
/// those with hoisted slices (hoist_slices.h) and those of the orders that scheduling::best_schedule finds, for the
/// body and for the regions of branches and loops. Another
/// order is taken only if its placed arenas are smaller. Failures as make_model() and the planner, with the method and
/// the value that the buffer was made for as their place.
Expected<MethodPlan> plan_schedule(const ir::Module& module, const ir::Method& method, const MemoryOptions& options,
                                   const IdVector<ir::NodeId, int64_t>& scratch_bytes);

}  // namespace berth::memory
