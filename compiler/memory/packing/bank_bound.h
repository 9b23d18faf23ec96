// A lower bound on what it costs to fill banks.
#pragma once

#include <cstdint>

#include "base/deadline.h"
#include "compiler/memory/packing/bank_problem.h"

namespace berth::packing {

/// What every filling costs at least, whichever candidates are taken: the largest of one step, of what is alive there,
/// each byte in the cheapest bank that others leave it. O(n log n) for each step.
int64_t bank_cost_of_steps(const BankProblem& problem);

/// The same over all steps together, when a filling of this cost is known: with prices for full banks (bank_prices.h),
/// and where there are few buffers by a search of all choices, in which only offsets are left out (search_choices.h).
int64_t bank_cost_bound(const BankProblem& problem, int64_t cost, Deadline* deadline);

}  // namespace berth::packing
