// Fills banks one after the other, for problems of any size.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/deadline.h"
#include "compiler/memory/packing/bank_bodies.h"
#include "compiler/memory/packing/filling.h"
#include "compiler/memory/packing/pack_bank.h"

namespace berth::packing {

/// Fills one bank after the other: what the order offers first and the load leaves room for, as many of them as can be
/// packed. Nothing when some bodies are left over, or the deadline passes first.
std::optional<Filling> fill_in_turn(const BankBodies& bodies, const std::vector<Bank>& banks,
                                    const std::vector<int32_t>& order, Deadline* deadline, SearchBudget* budget);

}  // namespace berth::packing
