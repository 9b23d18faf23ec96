// Banks with wishes: buffers that should lie in a certain bank, as long as everything fits.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/memory/packing/banks.h"

namespace berth::packing {

/// fill_banks() with as many wishes kept as can be found by halving: all of them, or the first of those with the most
/// traffic for each byte. `wishes`: of each buffer its bank, or kAnyBank; pins go before them. The bound of the plan is
/// that of the problem with the wishes that are kept. Failures as fill_banks() of the problem without wishes.
Expected<BankPlan> fill_banks_with_wishes(const BankProblem& problem, const std::vector<int32_t>& wishes,
                                          const BankOptions& options = {});

}  // namespace berth::packing
