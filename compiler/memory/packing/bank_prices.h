// BankPrices: what a byte of a full bank is worth, for a lower bound on the cost of filling banks.
//
// Where not everything fits into the best bank, what lies there keeps the rest out. So each byte of a bank gets a price
// in each section. An item then costs its traffic and the price of the bytes that it takes, wherever it likes best;
// what all bytes of the banks are worth is given back. Whatever the prices, no choice costs less: where a choice fills
// a bank, its items pay at most what is given back. (Lagrange multipliers of the capacities.)
#pragma once

#include <cstdint>
#include <vector>

#include "base/deadline.h"
#include "compiler/memory/packing/bank_choices.h"

namespace berth::packing {

class BankPrices {
 public:
  /// Prices of 0. REQUIRES: has_small_tables(), and `choices` outlives this.
  explicit BankPrices(const BankChoices& choices);

  /// Raises and lowers prices for as long as the bound grows, up to `cost`, that of some choice. What this does is
  /// limited by counting.
  void improve(int64_t cost, Deadline* deadline);

  /// No choice costs less.
  int64_t bound() const;
  /// No choice costs less whose priced costs have this sum.
  int64_t bound(double priced) const;

  /// What the item costs in the bank, with the price of its bytes. REQUIRES: it may lie there.
  double priced(size_t item, size_t bank) const { return priced_[item * choices_.banks.size() + bank]; }

 private:
  struct Choice {
    double value = 0;          // the bound
    std::vector<double> load;  // of each cell: the bytes of the items that like it best
  };

  size_t cell(size_t bank, int32_t section) const { return bank * (choices_.sections + 1) + section; }
  bool is_limited(size_t bank) const { return choices_.banks[bank].capacity != kUnlimited; }
  double given_back() const;
  double price_of(const BankItem& item, size_t bank) const;
  void sum_up();
  Choice choose();
  bool step(const Choice& choice, double length);
  void settle();

  const BankChoices& choices_;
  std::vector<double> prices_;  // of each bank and section, one section more at the end of each bank
  std::vector<double> sums_;    // of the prices in the sections before
  std::vector<double> priced_;  // of each item and bank
  double given_back_ = 0;
  double slack_ = 0;  // what rounding may have added to the bound
};

}  // namespace berth::packing
