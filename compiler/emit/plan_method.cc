#include "compiler/emit/plan_method.h"

#include <chrono>

#include "compiler/plan/greedy.h"
#include "compiler/plan/naive.h"
#include "compiler/plan/validate.h"

namespace berth::emit {
namespace {

/// Where a failure of the planner is: the value that the storage was made for.
std::string place_in_method(const ir::Method& method, const Lifetimes& lifetimes, const std::string& place) {
  for (size_t i = 0; i < lifetimes.first_value.size(); ++i) {
    const ir::ValueId value = lifetimes.first_value[i];
    if (value.valid() && place == "storage " + std::to_string(i)) {
      return "method " + method.name + ": %" + method.value(value).name;
    }
  }
  return "method " + method.name + ": " + place;
}

Expected<plan::Plan> plan_with(Planner planner, const plan::Problem& problem) {
  switch (planner) {
    case Planner::kNaive: return plan::plan_naive(problem);
    case Planner::kGreedy: return plan::plan_greedy(problem, plan::Key::kSize, plan::Fit::kBest);
    case Planner::kBest: return plan::plan_best(problem);
  }
  BERTH_CHECK(false);
}

}  // namespace

Expected<plan::Plan> plan_method(const ir::Method& method, const Lifetimes& lifetimes, Planner planner, double* ms) {
  const auto start = std::chrono::steady_clock::now();
  auto plan = plan_with(planner, lifetimes.problem);
  *ms += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  const Status judged = plan.ok() ? plan::validate(lifetimes.problem, *plan) : plan.error();
  if (judged.ok()) return plan;
  const Failure& failure = judged.error();
  return Failure{failure.code, place_in_method(method, lifetimes, failure.place), failure.message};
}

}  // namespace berth::emit
