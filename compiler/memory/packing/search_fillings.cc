#include "compiler/memory/packing/search_fillings.h"

#include <algorithm>

#include "compiler/memory/packing/pack_bank.h"

namespace berth::packing {
namespace {

/// How many choices of banks are packed at most, and how many are looked at, those of some of the bodies included.
constexpr int kMostPacked = 2'000;
constexpr int kMostVisited = 200'000;

/// Depth first: each body into each bank, the cheapest first. A choice that costs too much already is left.
class FillingSearch {
 public:
  FillingSearch(const BankBodies& bodies, const std::vector<Bank>& banks, int64_t below)
      : bodies_(bodies), banks_(banks), order_(bank_order(bodies, BankKey::kTraffic)), below_(below) {
    current_.banks.assign(order_.size(), -1);
    current_.positions.assign(order_.size(), 0);
  }

  std::optional<Filling> run(bool* complete) {
    visit(0);
    *complete = complete_;
    return best_;
  }

 private:
  void visit(size_t depth) {
    if (current_.cost >= below_) return;
    if (visited_++ >= kMostVisited) {
      complete_ = false;
      return;
    }
    if (depth == order_.size()) return pack();
    const int32_t body = order_[depth];
    for (size_t k = 0; k < banks_.size(); ++k) {
      if (bodies_.pins[body] != kAnyBank && bodies_.pins[body] != static_cast<int32_t>(k)) continue;
      const int64_t cost = bodies_.traffic[body] * banks_[k].cost;
      current_.banks[body] = static_cast<int32_t>(k);
      current_.cost += cost;
      visit(depth + 1);
      current_.cost -= cost;
    }
    current_.banks[body] = -1;
  }

  void pack() {
    if (packed_++ >= kMostPacked) {
      complete_ = false;
      return;
    }
    for (size_t k = 0; k < banks_.size(); ++k) {
      std::vector<int32_t> own;
      for (size_t b = 0; b < current_.banks.size(); ++b) {
        if (current_.banks[b] == static_cast<int32_t>(k)) own.push_back(static_cast<int32_t>(b));
      }
      bool proof = false;
      const auto positions = pack_bank(bodies_.layout, own, banks_[k].capacity, &proof);
      if (!positions.has_value()) {
        complete_ = complete_ && proof;
        return;
      }
      for (size_t i = 0; i < own.size(); ++i) current_.positions[own[i]] = (*positions)[i];
    }
    best_ = current_;
    below_ = current_.cost;
  }

  const BankBodies& bodies_;
  const std::vector<Bank>& banks_;
  const std::vector<int32_t> order_;
  int64_t below_;
  int packed_ = 0;
  int visited_ = 0;
  bool complete_ = true;
  Filling current_;
  std::optional<Filling> best_;
};

}  // namespace

std::optional<Filling> search_fillings(const BankBodies& bodies, const std::vector<Bank>& banks, int64_t below,
                                       bool* complete) {
  return FillingSearch(bodies, banks, below).run(complete);
}

}  // namespace berth::packing
