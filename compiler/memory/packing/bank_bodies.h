// The bodies of a problem with banks, and ways to fill the banks with them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/memory/packing/bank_problem.h"
#include "compiler/memory/packing/layout.h"

namespace berth::packing {

/// What goes into a bank as a whole: a body of the layout.
struct BankBodies {
  Layout layout;
  std::vector<bool> taken;       // of each candidate of the problem
  std::vector<int64_t> traffic;  // of each body, like all that follows
  std::vector<int32_t> pins;
  std::vector<int64_t> bytes;  // of all its pieces
  std::vector<double> area;    // bytes times steps
};

/// `tied`: the preferred candidates are taken, those apart that tie buffers with different pins.
BankBodies make_bank_bodies(const BankProblem& problem, bool tied);

/// Which body lies in which bank, and where.
struct Filling {
  std::vector<int32_t> banks;
  std::vector<int64_t> positions;
  int64_t cost = 0;
};

/// The order in which bodies are offered to banks; pinned ones come before all others.
enum class BankKey : uint8_t { kTrafficByArea, kTrafficByBytes, kTraffic, kBytes };
inline constexpr BankKey kBankKeys[] = {BankKey::kTrafficByArea, BankKey::kTrafficByBytes, BankKey::kTraffic,
                                        BankKey::kBytes};
std::vector<int32_t> bank_order(const BankBodies& bodies, BankKey key);

/// Fills one bank after the other: what the order offers first and the load leaves room for, as many of them as can be
/// packed. Nothing when some bodies are left over.
std::optional<Filling> fill_in_turn(const BankBodies& bodies, const std::vector<Bank>& banks,
                                    const std::vector<int32_t>& order);

/// Puts each body into the first bank with a hole for it, at the lowest.
std::optional<Filling> fill_at_once(const BankBodies& bodies, const std::vector<Bank>& banks,
                                    const std::vector<int32_t>& order);

/// The cheapest filling of all, if it costs less than `below`. REQUIRES: kMostSearched bodies at most. `complete` is
/// set to whether nothing cheaper than what is returned, or than `below`, exists for these bodies.
inline constexpr size_t kMostSearched = 14;
std::optional<Filling> search_fillings(const BankBodies& bodies, const std::vector<Bank>& banks, int64_t below,
                                       bool* complete);

/// What every filling costs at least, whichever candidates are taken.
int64_t bank_cost_bound(const BankProblem& problem);

}  // namespace berth::packing
