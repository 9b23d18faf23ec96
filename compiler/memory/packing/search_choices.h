// Searches all choices of banks, depth first, without those that cost too much or overfill a bank.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/deadline.h"
#include "compiler/memory/packing/bank_prices.h"

namespace berth::packing {

enum class ChoiceVerdict : uint8_t {
  kTaken,    // the choice is an answer: what is still looked for is cheaper
  kRefused,  // it is none, and that is proved
  kUnknown,  // it is none as far as is known
  kGiveUp,   // nothing more is to be looked at
};

struct ChoiceSearchResult {
  int64_t below = 0;      // the cost of the cheapest choice that was taken, or the limit that was given
  bool complete = false;  // whether each choice that is cheaper was refused
};

/// Calls `judge` with choices (of each item its bank) and what they cost, each cheaper than `below` and than the last
/// that it took. What this does is limited by counting. REQUIRES: has_small_tables(), and a few thousand items at most.
ChoiceSearchResult search_choices(
    const BankChoices& choices, const BankPrices& prices, int64_t below, Deadline* deadline,
    const std::function<ChoiceVerdict(const std::vector<int32_t>& banks, int64_t cost)>& judge);

inline constexpr size_t kMostItemsSearched = 4'000;

}  // namespace berth::packing
