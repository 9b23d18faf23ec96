// Searches all ways to fill the banks, for problems with few bodies.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/memory/packing/bank_bodies.h"
#include "compiler/memory/packing/filling.h"

namespace berth::packing {

inline constexpr size_t kMostSearched = 14;

/// The cheapest filling of all, if it costs less than `below`. REQUIRES: kMostSearched bodies at most. `complete` is
/// set to whether nothing cheaper than what is returned, or than `below`, exists for these bodies.
std::optional<Filling> search_fillings(const BankBodies& bodies, const std::vector<Bank>& banks, int64_t below,
                                       bool* complete);

}  // namespace berth::packing
