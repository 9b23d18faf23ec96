// The bodies of a problem with banks, and the orders in which they are offered to banks.
#pragma once

#include <cstdint>
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

/// The order in which bodies are offered to banks; pinned ones come before all others.
enum class BankKey : uint8_t { kTrafficByArea, kTrafficByBytes, kTraffic, kBytes };
inline constexpr BankKey kBankKeys[] = {BankKey::kTrafficByArea, BankKey::kTrafficByBytes, BankKey::kTraffic,
                                        BankKey::kBytes};
std::vector<int32_t> bank_order(const BankBodies& bodies, BankKey key);

}  // namespace berth::packing
