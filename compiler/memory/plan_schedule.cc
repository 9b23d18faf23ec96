#include "compiler/memory/plan_schedule.h"

#include <algorithm>

#include "base/stopwatch.h"
#include "compiler/memory/hoist_slices.h"
#include "compiler/memory/make_model.h"
#include "compiler/memory/optimal_schedule.h"
#include "compiler/memory/output_scratch.h"
#include "compiler/memory/packing/bound.h"
#include "compiler/memory/packing/plan_best.h"
#include "compiler/memory/packing/validate.h"
#include "compiler/memory/schedule_problem.h"
#include "compiler/memory/scheduling/schedule.h"

namespace berth::memory {
namespace {

/// Each buffer by the value that it was made for, as messages name it; `count` with the guards behind them.
std::vector<std::string> names_of(const ir::Method& method, const Buffers& buffers, size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    const BufferId buffer{static_cast<int32_t>(i)};
    const ir::ValueId value = buffers.first_value.contains(buffer) ? buffers.first_value[buffer] : ir::ValueId{};
    names.push_back(value.valid() ? "%" + method.value(value).name : "buffer " + std::to_string(i));
  }
  return names;
}

/// Where a failure of the planner is.
std::string place_in_method(const ir::Method& method, const std::vector<std::string>& names, const std::string& place) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (place == "buffer " + std::to_string(i)) return "method " + method.name + ": " + names[i];
  }
  return "method " + method.name + ": " + place;
}

/// Adds the time that it lives to a cost.
class Timed {
 public:
  explicit Timed(PlanningCost* cost) : cost_(cost) {}
  ~Timed() { cost_->ms += watch_.milliseconds(); }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  PlanningCost* const cost_;
  const Stopwatch watch_;
};

/// An order of the nodes that may be better than others. It is packed when its bound does not rule it out.
struct Candidate {
  std::optional<ir::Method> rescheduled;  // nothing: the given order
  MemoryModel model;
  packing::Problem problem;
  int64_t bound = 0;  // no plan takes fewer bytes
  std::optional<packing::Plan> plan;

  int64_t height() const { return plan->bytes(); }
};

/// Evaluates orders one after the other.
class ScheduleSearch {
 public:
  ScheduleSearch(const ir::Module& module, const ir::Method& given, const MemoryOptions& options,
                 const IdVector<ir::NodeId, int64_t>& scratch_bytes)
      : module_(module), given_(given), options_(options), scratch_bytes_(scratch_bytes) {}

  Expected<MethodPlan> run() {
    const bool searches = options_.reorder && options_.planner == packing::Planner::kBest;
    BERTH_ASSIGN_OR_RETURN(Candidate best, candidate(std::nullopt));
    int64_t saved = 0;
    std::optional<ir::Method> hoisted =
        searches ? hoist_slices(given_, best.model.candidates) : std::optional<ir::Method>();
    if (hoisted.has_value()) {
      BERTH_ASSIGN_OR_RETURN(Candidate other, candidate(std::move(hoisted)));
      BERTH_TRY(keep_better(std::move(other), &best, &saved));
    }
    BERTH_TRY(pack(&best));
    bool optimal = is_lowest(best);
    if (searches && !optimal) BERTH_TRY(order_regions(&best, &saved));
    if (searches && !optimal) {
      BERTH_ASSIGN_OR_RETURN(const scheduling::Schedule found, best_order(best));
      const bool exact = is_schedule_exact(method_of(best)) && best.plan->spaces.size() == 1;
      if (found.peak < found.given_peak) {
        BERTH_ASSIGN_OR_RETURN(Candidate other, candidate(reordered(method_of(best), found.tasks)));
        BERTH_TRY(keep_better(std::move(other), &best, &saved));
      }
      optimal = (exact && best.height() - guard_bytes(best.model) <= found.lower_bound) || is_lowest(best);
    }
    return MethodPlan{
        std::move(best.rescheduled), std::move(best.model), std::move(*best.plan), saved, optimal, cost_, {}, {}};
  }

 private:
  const ir::Method& method_of(const Candidate& candidate) const {
    return candidate.rescheduled.has_value() ? *candidate.rescheduled : given_;
  }

  Expected<Candidate> candidate(std::optional<ir::Method> rescheduled) const {
    Candidate made;
    made.rescheduled = std::move(rescheduled);
    BERTH_ASSIGN_OR_RETURN(made.model, make_model(module_, method_of(made), options_, scratch_bytes_));
    made.problem = packing_problem(made.model);
    for (const int64_t bytes : packing::lower_bounds(made.problem)) made.bound += bytes;
    return made;
  }

  /// Replaces `best` by `other` when that is lower, and adds what it saves. A `best` that is not packed stays so when a
  /// plan of `other` is below its bound: what is saved is then at least what is said.
  Status keep_better(Candidate other, Candidate* best, int64_t* saved) {
    if (!best->plan.has_value() && other.bound < best->bound) {
      BERTH_TRY(pack(&other));
      if (other.height() < best->bound) return replace(std::move(other), best->bound, best, saved);
    }
    BERTH_TRY(pack(best));
    if (other.bound >= best->height()) return Done{};
    BERTH_TRY(pack(&other));
    if (other.height() >= best->height()) return Done{};
    return replace(std::move(other), best->height(), best, saved);
  }

  static Status replace(Candidate other, int64_t before, Candidate* best, int64_t* saved) {
    *saved += before - other.height();
    *best = std::move(other);
    return Done{};
  }

  Status pack(Candidate* candidate) {
    if (candidate->plan.has_value()) return Done{};
    const ir::Method& method = method_of(*candidate);
    const packing::Problem& problem = candidate->problem;
    const std::vector<std::string> names = names_of(method, candidate->model.buffers, problem.buffers.size());
    packing::PlanOptions options;
    options.planner = options_.planner;
    options.names = &names;
    options.time_limit = seconds_left(options_.time_limit, cost_);
    options.watch = options_.watch;
    const Timed timed(&cost_);
    auto plan = packing::plan_best(problem, options);
    if (plan.ok()) cost_.truncated |= plan->truncated;
    const Status judged = plan.ok() ? packing::validate(problem, *plan) : plan.error();
    if (judged.ok()) {
      candidate->plan = std::move(plan).value();
      return Done{};
    }
    const Failure& failure = judged.error();
    return Failure{failure.code, place_in_method(method, names, failure.place), failure.message};
  }

  Expected<scheduling::Schedule> best_order(const Candidate& from) {
    scheduling::Options options;
    options.time_limit = seconds_left(options_.time_limit, cost_);
    options.watch = options_.watch;
    const Timed timed(&cost_);
    auto found = scheduling::best_schedule(
        schedule_problem(module_, method_of(from), from.model, options_.in_place_set), options);
    if (found.ok()) cost_.truncated |= found->truncated;
    return found;
  }

  /// The nodes in branches and loops: all regions together, as the worst of them counts, and then one by one.
  Status order_regions(Candidate* best, int64_t* saved) {
    const auto try_orders = [&](const std::vector<RegionId>& regions) -> Status {
      std::optional<ir::Method> changed;
      for (const RegionId& region : regions) BERTH_TRY(order_region(*best, region, &changed));
      if (!changed.has_value()) return Done{};
      BERTH_ASSIGN_OR_RETURN(Candidate other, candidate(std::move(changed)));
      return keep_better(std::move(other), best, saved);
    };
    const std::vector<RegionId> regions = schedulable_regions(method_of(*best));
    BERTH_TRY(try_orders(regions));
    if (regions.size() == 1) return Done{};
    for (const RegionId& region : regions) BERTH_TRY(try_orders({region}));
    return Done{};
  }

  /// Into `changed`, which begins as the method of `from`: a better order of the region's nodes, if there is one.
  Status order_region(const Candidate& from, const RegionId& region, std::optional<ir::Method>* changed) {
    const ir::Method& method = method_of(from);
    scheduling::Options options;
    options.time_limit = seconds_left(options_.time_limit, cost_);
    options.watch = options_.watch;
    const Timed timed(&cost_);
    auto found = scheduling::best_schedule(schedule_problem(module_, method, from.model, options_.in_place_set, region),
                                           options);
    if (!found.ok()) return found.error();
    cost_.truncated |= found->truncated;
    if (found->peak >= found->given_peak) return Done{};
    if (!changed->has_value()) *changed = method;
    const std::vector<ir::NodeId>& nodes = method.node(region.node).regions[region.region].nodes;
    std::vector<ir::NodeId>& ordered = (*changed)->node(region.node).regions[region.region].nodes;
    for (size_t i = 0; i < nodes.size(); ++i) ordered[i] = nodes[found->tasks[i]];
    return Done{};
  }

  bool is_lowest(const Candidate& candidate) {
    const Timed timed(&cost_);
    return is_lowest_of_all_orders(module_, method_of(candidate), candidate.model, options_.in_place_set,
                                   *candidate.plan);
  }

  static ir::Method reordered(ir::Method method, const std::vector<int32_t>& tasks) {
    const std::vector<ir::NodeId> nodes = method.body.nodes;
    for (size_t i = 0; i < nodes.size(); ++i) method.body.nodes[i] = nodes[tasks[i]];
    return method;
  }

  const ir::Module& module_;
  const ir::Method& given_;
  const MemoryOptions& options_;
  const IdVector<ir::NodeId, int64_t>& scratch_bytes_;
  PlanningCost cost_;
};

}  // namespace

PlanningCost& PlanningCost::operator+=(const PlanningCost& other) {
  ms += other.ms;
  truncated |= other.truncated;
  return *this;
}

double seconds_left(double time_limit, const PlanningCost& spent) {
  return time_limit > 0 ? std::max(1e-6, time_limit - spent.ms / 1e3) : 0;
}

Expected<MethodPlan> plan_schedule(const ir::Module& module, const ir::Method& method, const MemoryOptions& options,
                                   const IdVector<ir::NodeId, int64_t>& scratch_bytes) {
  return ScheduleSearch(module, method, options, scratch_bytes).run();
}

}  // namespace berth::memory
