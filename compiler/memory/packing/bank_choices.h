// BankChoices: which bank each thing lies in, and nothing of where: offsets are left out.
//
//     bytes ^ fast, 8 bytes       What every way to fill banks keeps to: of what is alive in a section, no bank holds
//         8 |  B B B . .          more than its capacity. So a choice that does not keep to it cannot be laid out, and
//         4 |  C C C C .          the cheapest choice that does costs no more than the cheapest plan.
//         0 +--0-1-2-3-4-->
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/memory/packing/bank_bodies.h"
#include "compiler/memory/packing/bank_problem.h"

namespace berth::packing {

/// Bytes that are alive in sections [lower, upper).
struct BankRun {
  int32_t lower = 0;
  int32_t upper = 0;
  int64_t bytes = 0;
};

/// What goes into one bank as a whole.
struct BankItem {
  int32_t begin = 0;  // its runs are BankChoices::runs[begin, end)
  int32_t end = 0;
  int64_t traffic = 0;
  int32_t pin = kAnyBank;
};

struct BankChoices {
  std::vector<BankItem> items;
  std::vector<BankRun> runs;
  std::vector<Bank> banks;
  int32_t sections = 0;

  /// Whether the item may lie in the bank.
  bool may(const BankItem& item, size_t bank) const { return may_lie_in(banks, bank, item.pin); }
  int64_t cost(const BankItem& item, size_t bank) const { return item.traffic * banks[bank].cost; }
  /// Whether tables with a number for each bank and section are small enough to be made.
  bool has_small_tables() const;
};

/// An item for each buffer that has bytes. Where a candidate may put it into bytes that are alive, those count alone:
/// so whichever candidates are taken, no two items share bytes that count.
BankChoices choices_of_buffers(const BankProblem& problem);

/// An item for each body, with all its pieces.
BankChoices choices_of_bodies(const BankBodies& bodies, const std::vector<Bank>& banks);

}  // namespace berth::packing
