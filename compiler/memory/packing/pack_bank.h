// Whether bodies fit into a bank.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/deadline.h"
#include "compiler/memory/packing/layout.h"

namespace berth::packing {

/// How many exact searches pack_bank() may still make; without them it has rules alone.
struct SearchBudget {
  int64_t left = INT64_MAX;
};

/// Positions for `bodies` of the layout, in their order, that keep `capacity`; nothing when none were found, or
/// the deadline passed first. `proof`, unless it is null, is set when nothing is returned: whether there are none.
std::optional<std::vector<int64_t>> pack_bank(const Layout& layout, const std::vector<int32_t>& bodies,
                                              int64_t capacity, Deadline* deadline, SearchBudget* budget,
                                              bool* proof = nullptr);

}  // namespace berth::packing
