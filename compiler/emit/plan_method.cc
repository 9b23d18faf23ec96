#include "compiler/emit/plan_method.h"

#include <algorithm>
#include <chrono>

#include "compiler/emit/cuts_first.h"
#include "compiler/emit/order_method.h"
#include "compiler/plan/bound.h"
#include "compiler/plan/validate.h"

namespace berth::emit {
namespace {

/// Each storage by the value that it was made for, as messages want it.
std::vector<std::string> names_of(const ir::Method& method, const Lifetimes& lifetimes) {
  std::vector<std::string> names;
  for (size_t i = 0; i < lifetimes.first_value.size(); ++i) {
    const ir::ValueId value = lifetimes.first_value[i];
    names.push_back(value.valid() ? "%" + method.value(value).name : "storage " + std::to_string(i));
  }
  return names;
}

/// Where a failure of the planner is.
std::string place_in_method(const ir::Method& method, const std::vector<std::string>& names, const std::string& place) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (place == "storage " + std::to_string(i)) return "method " + method.name + ": " + names[i];
  }
  return "method " + method.name + ": " + place;
}

plan::Planner planner_of(Planner planner) {
  switch (planner) {
    case Planner::kNaive: return plan::Planner::kNaive;
    case Planner::kGreedy: return plan::Planner::kGreedy;
    case Planner::kBest: return plan::Planner::kBest;
    case Planner::kBreadth: return plan::Planner::kBreadth;
    case Planner::kBestFit: return plan::Planner::kBestFit;
  }
  BERTH_CHECK(false);
}

int64_t height_of(const plan::Plan& plan) {
  int64_t height = 0;
  for (const plan::SpaceUse& use : plan.spaces) height += use.height;
  return height;
}

/// No plan of these lifetimes takes fewer bytes.
int64_t bound_of(const Lifetimes& lifetimes) {
  int64_t bound = 0;
  for (const int64_t bytes : plan::lower_bounds(lifetimes.problem)) bound += bytes;
  return bound;
}

class Stopwatch {
 public:
  explicit Stopwatch(Planning* planning) : planning_(planning), start_(std::chrono::steady_clock::now()) {}
  ~Stopwatch() {
    planning_->ms += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  Planning* const planning_;
  const std::chrono::steady_clock::time_point start_;
};

/// The best order of the best planner, found by trying those that may be better one after the other.
class Orders {
 public:
  Orders(const ir::Module& module, const MemoryOptions& memory, const std::vector<int64_t>& scratch_bytes,
         Planning* planning)
      : module_(module), memory_(memory), scratch_bytes_(scratch_bytes), planning_(*planning) {}

  Expected<PlannedMethod> run(const ir::Method& given) {
    BERTH_ASSIGN_OR_RETURN(best_.lifetimes, find_lifetimes(module_, given, memory_, scratch_bytes_));
    const bool reorder = planning_.reorder && planning_.planner == Planner::kBest;
    std::optional<ir::Method> cut = reorder ? with_cuts_first(given, best_.lifetimes) : std::nullopt;
    if (cut.has_value()) {
      BERTH_ASSIGN_OR_RETURN(const bool settled, is_below_all_of_given(*cut));
      if (settled) cut.reset();
    }
    if (!best_.reordered.has_value()) {
      BERTH_ASSIGN_OR_RETURN(best_.plan, plan_method(given, best_.lifetimes, &planning_));
    }
    if (cut.has_value()) BERTH_TRY(try_order(std::move(*cut)));
    const ir::Method& method = best_.in_order(given);
    best_.order_optimal = is_lowest(method);
    if (reorder && !best_.order_optimal) BERTH_TRY(try_best_order(given));
    planning_.order_optimal &= best_.order_optimal;
    return std::move(best_);
  }

 private:
  /// Whether `cut` has a plan that no plan of the given order is below: then it is taken, and the given order needs no
  /// plan. What it saves is at least what is said.
  Expected<bool> is_below_all_of_given(const ir::Method& cut) {
    const int64_t bound = bound_of(best_.lifetimes);
    BERTH_ASSIGN_OR_RETURN(Lifetimes lifetimes, find_lifetimes(module_, cut, memory_, scratch_bytes_));
    if (bound_of(lifetimes) >= bound) return false;
    BERTH_ASSIGN_OR_RETURN(plan::Plan plan, plan_method(cut, lifetimes, &planning_));
    const int64_t saved = bound - height_of(plan);
    if (saved <= 0) return false;
    best_ = {cut, std::move(lifetimes), std::move(plan), saved};
    return true;
  }

  Status try_order(ir::Method changed) {
    BERTH_ASSIGN_OR_RETURN(Lifetimes lifetimes, find_lifetimes(module_, changed, memory_, scratch_bytes_));
    if (bound_of(lifetimes) >= height_of(best_.plan)) return Done{};
    BERTH_ASSIGN_OR_RETURN(plan::Plan plan, plan_method(changed, lifetimes, &planning_));
    const int64_t saved = height_of(best_.plan) - height_of(plan);
    if (saved <= 0) return Done{};
    best_.reordered = std::move(changed);
    best_.lifetimes = std::move(lifetimes);
    best_.plan = std::move(plan);
    best_.saved_by_order += saved;
    return Done{};
  }

  Status try_best_order(const ir::Method& given) {
    ir::Method changed = best_.in_order(given);
    order::Options options;
    options.time_limit = planning_.seconds_left();
    const auto found = [&] {
      const Stopwatch watch(&planning_);
      return order::best_order(order_problem(module_, changed, best_.lifetimes), options);
    }();
    if (!found.ok()) return found.error();
    planning_.truncated |= found->truncated;
    const bool exact = is_order_exact(changed) && best_.plan.spaces.size() == 1;
    if (found->peak < found->given_peak) BERTH_TRY(try_order(reordered(changed, found->tasks)));
    best_.order_optimal = (exact && height_of(best_.plan) <= found->lower_bound) || is_lowest(best_.in_order(given));
    return Done{};
  }

  bool is_lowest(const ir::Method& method) {
    const Stopwatch watch(&planning_);
    return is_lowest_of_all_orders(module_, method, best_.lifetimes, best_.plan);
  }

  static ir::Method reordered(ir::Method changed, const std::vector<int32_t>& tasks) {
    const std::vector<ir::NodeId> nodes = changed.body.nodes;
    for (size_t i = 0; i < nodes.size(); ++i) changed.body.nodes[i] = nodes[static_cast<size_t>(tasks[i])];
    return changed;
  }

  const ir::Module& module_;
  const MemoryOptions& memory_;
  const std::vector<int64_t>& scratch_bytes_;
  Planning& planning_;
  PlannedMethod best_;
};

}  // namespace

double Planning::seconds_left() const { return time_limit > 0 ? std::max(1e-6, time_limit - ms / 1e3) : 0; }

MemoryOptions memory_options(const EmitOptions& options) {
  MemoryOptions memory;
  memory.in_place = options.in_place && options.planner != Planner::kNaive;
  memory.in_place_set = options.in_place_set;
  memory.alias = options.alias;
  memory.slots = options.alias && options.planner != Planner::kNaive;
  return memory;
}

Expected<plan::Plan> plan_method(const ir::Method& method, const Lifetimes& lifetimes, Planning* planning) {
  const std::vector<std::string> names = names_of(method, lifetimes);
  plan::PlanOptions options;
  options.planner = planner_of(planning->planner);
  options.names = &names;
  options.time_limit = planning->seconds_left();
  const Stopwatch watch(planning);
  auto plan = plan::plan_best(lifetimes.problem, options);
  if (plan.ok()) planning->truncated |= plan->truncated;
  const Status judged = plan.ok() ? plan::validate(lifetimes.problem, *plan) : plan.error();
  if (judged.ok()) return plan;
  const Failure& failure = judged.error();
  return Failure{failure.code, place_in_method(method, names, failure.place), failure.message};
}

Expected<PlannedMethod> plan_in_order(const ir::Module& module, const ir::Method& method, const MemoryOptions& memory,
                                      const std::vector<int64_t>& scratch_bytes, Planning* planning) {
  return Orders(module, memory, scratch_bytes, planning).run(method);
}

}  // namespace berth::emit
