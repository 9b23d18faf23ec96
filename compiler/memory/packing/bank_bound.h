// A lower bound on what it costs to fill banks.
#pragma once

#include <cstdint>

#include "compiler/memory/packing/bank_problem.h"

namespace berth::packing {

/// What every filling costs at least, whichever candidates are taken.
int64_t bank_cost_bound(const BankProblem& problem);

}  // namespace berth::packing
