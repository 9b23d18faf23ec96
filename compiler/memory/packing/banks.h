// fill_banks(): which buffers lie in which bank (bank_problem.h), and where.
#pragma once

#include <cstdint>
#include <vector>

#include "base/deadline.h"
#include "compiler/memory/packing/bank_problem.h"
#include "compiler/memory/packing/plan.h"

namespace berth::packing {

struct BankPlan {
  std::vector<int32_t> banks;  // of each buffer
  Plan plan;                   // one space a bank; only candidates of two buffers in one bank are taken
  int64_t cost = 0;            // over all buffers: traffic times the cost of the bank
  int64_t lower_bound = 0;     // no choice of banks and candidates costs less

  bool optimal() const { return cost == lower_bound; }
};

struct BankOptions {
  /// Seconds after which no better filling is looked for, and `plan` says `truncated`; 0: never. What it takes to find
  /// one at all is not cut short.
  double time_limit = 0;
  Deadline::Clock clock = Deadline::steady_clock;  // tests give their own
  /// Only whether a filling can be found, with a bounded effort: the first one is the plan. For those who try many
  /// times.
  bool trial = false;
};

/// The cheapest plan found. Buffers that preferred candidates tie together stay in one bank where their pins allow it;
/// a plan that ties none is tried as well. Each bank is filled before the next one is begun, with the buffers in
/// several orders (by traffic for each byte and step that they hold, by traffic for each byte, by traffic, by size),
/// and by one pass over all banks at once, the largest buffer first into the first bank that has a hole for it, which
/// is the method of ExecuTorch's banked_greedy (#21821). Then all choices of banks are searched, cheap ones first, as
/// far as a count of work allows. The bound is that of bank_bound.h.
///
/// OutOfResources when some buffers fit nowhere: the message says how many bytes are missing, and the step in which the
/// most is alive, or the first buffer that no bank holds; the failure's place is "buffer 7" or "step 7".
/// REQUIRES: check(problem) is ok, no buffer is fixed, `banks` is not empty and its costs do not decrease, `traffic`
/// has one number a buffer, and the sum of all, times the highest cost, is at most 2^62.
Expected<BankPlan> fill_banks(const BankProblem& problem, const BankOptions& options = {});

}  // namespace berth::packing
