#include "compiler/memory/packing/bank_wishes.h"

#include <algorithm>
#include <optional>

namespace berth::packing {
namespace {

/// The buffers with a wish that no pin decides, in the order in which wishes are kept.
std::vector<size_t> order_wishes(const BankProblem& problem, const std::vector<int32_t>& wishes) {
  std::vector<size_t> order;
  for (size_t i = 0; i < wishes.size(); ++i) {
    if (wishes[i] != kAnyBank && (problem.pins.empty() || problem.pins[i] == kAnyBank)) order.push_back(i);
  }
  const auto rate = [&](size_t i) {
    const int64_t bytes = std::max<int64_t>(1, problem.problem.buffers[i].size);
    return static_cast<double>(problem.traffic[i]) / static_cast<double>(bytes);
  };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rate(a) > rate(b); });
  return order;
}

}  // namespace

Expected<BankPlan> fill_banks_with_wishes(const BankProblem& problem, const std::vector<int32_t>& wishes,
                                          const BankOptions& options) {
  const std::vector<size_t> order = order_wishes(problem, wishes);
  if (order.empty()) return fill_banks(problem, options);
  const int64_t begin = options.time_limit > 0 ? options.clock() : 0;
  const auto fill_with = [&](size_t count) {
    BankProblem pinned = problem;
    pinned.pins.resize(wishes.size(), kAnyBank);
    for (size_t w = 0; w < count; ++w) pinned.pins[order[w]] = wishes[order[w]];
    BankOptions left = options;
    if (left.time_limit > 0) {
      left.time_limit = std::max(1e-9, left.time_limit - static_cast<double>(options.clock() - begin) * 1e-9);
    }
    return fill_banks(pinned, left);
  };
  Expected<BankPlan> all = fill_with(order.size());
  if (all.ok()) return all;
  Expected<BankPlan> none = fill_with(0);
  if (!none.ok()) return none;
  BankPlan best = std::move(none).value();
  size_t kept = 0;
  size_t most = order.size();
  while (kept + 1 < most) {
    const size_t middle = (kept + most) / 2;
    Expected<BankPlan> found = fill_with(middle);
    (found.ok() ? kept : most) = middle;
    if (found.ok()) best = std::move(found).value();
  }
  return best;
}

}  // namespace berth::packing
