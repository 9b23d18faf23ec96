// Searches ways to fill the banks, cheapest choices first where that can be, and lays each out.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/deadline.h"
#include "compiler/memory/packing/bank_bodies.h"
#include "compiler/memory/packing/filling.h"

namespace berth::packing {

/// The cheapest filling that is found, if it costs less than `below`. `complete` is set to whether nothing cheaper than
/// what is returned, or than `below`, exists for these bodies. With thousands of bodies nothing is searched.
std::optional<Filling> search_fillings(const BankBodies& bodies, const std::vector<Bank>& banks, int64_t below,
                                       Deadline* deadline, bool* complete);

}  // namespace berth::packing
