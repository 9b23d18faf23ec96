// Fills all banks in one pass over the bodies, for problems of any size.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/memory/packing/bank_bodies.h"
#include "compiler/memory/packing/filling.h"

namespace berth::packing {

/// Puts each body into the first bank with a hole for it, at the lowest. Nothing when no bank has a hole for one of
/// them.
std::optional<Filling> fill_at_once(const BankBodies& bodies, const std::vector<Bank>& banks,
                                    const std::vector<int32_t>& order);

}  // namespace berth::packing
