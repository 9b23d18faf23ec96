#include "compiler/emit/plan_method.h"

#include <chrono>

#include "compiler/emit/order_method.h"
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

}  // namespace

Expected<plan::Plan> plan_method(const ir::Method& method, const Lifetimes& lifetimes, Planner planner, double* ms) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<std::string> names = names_of(method, lifetimes);
  plan::PlanOptions options;
  options.planner = planner_of(planner);
  options.names = &names;
  auto plan = plan::plan_best(lifetimes.problem, options);
  *ms += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  const Status judged = plan.ok() ? plan::validate(lifetimes.problem, *plan) : plan.error();
  if (judged.ok()) return plan;
  const Failure& failure = judged.error();
  return Failure{failure.code, place_in_method(method, names, failure.place), failure.message};
}

Expected<PlannedMethod> plan_in_order(const ir::Module& module, const ir::Method& method, const MemoryOptions& memory,
                                      const std::vector<int64_t>& scratch_bytes, Planner planner, bool reorder,
                                      double* ms) {
  PlannedMethod out;
  BERTH_ASSIGN_OR_RETURN(out.lifetimes, find_lifetimes(module, method, memory, scratch_bytes));
  BERTH_ASSIGN_OR_RETURN(out.plan, plan_method(method, out.lifetimes, planner, ms));
  if (!reorder || planner != Planner::kBest) return out;
  const auto start = std::chrono::steady_clock::now();
  const auto order = order::best_order(order_problem(module, method, out.lifetimes));
  *ms += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (!order.ok()) return order.error();
  if (order->peak >= order->given_peak) return out;
  ir::Method changed = method;
  for (size_t i = 0; i < order->tasks.size(); ++i) {
    changed.body.nodes[i] = method.body.nodes[static_cast<size_t>(order->tasks[i])];
  }
  BERTH_ASSIGN_OR_RETURN(Lifetimes lifetimes, find_lifetimes(module, changed, memory, scratch_bytes));
  BERTH_ASSIGN_OR_RETURN(plan::Plan plan, plan_method(changed, lifetimes, planner, ms));
  const int64_t saved = height_of(out.plan) - height_of(plan);
  if (saved <= 0) return out;
  out.reordered = std::move(changed);
  out.lifetimes = std::move(lifetimes);
  out.plan = std::move(plan);
  out.saved_by_order = saved;
  return out;
}

}  // namespace berth::emit
