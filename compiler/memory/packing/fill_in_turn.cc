#include "compiler/memory/packing/fill_in_turn.h"

#include <algorithm>

namespace berth::packing {
namespace {

/// How many bodies that were left over are tried once more, one by one.
constexpr int kRetries = 32;

/// The bytes that are alive in each section of a bank.
class Load {
 public:
  Load(const Layout& layout, int64_t capacity) : layout_(layout), capacity_(capacity), bytes_(layout.sections, 0) {}

  /// Adds the body if no section then has more than the capacity.
  bool add(int32_t body) {
    const Body& added = layout_.bodies[body];
    for (int32_t p = added.begin; p < added.end; ++p) {
      const Piece& piece = layout_.pieces[p];
      for (int32_t s = piece.lower; s < piece.upper; ++s) {
        if (bytes_[s] > capacity_ - piece.size) return take_back(added.begin, p);
      }
      for (int32_t s = piece.lower; s < piece.upper; ++s) bytes_[s] += piece.size;
    }
    return true;
  }

 private:
  bool take_back(int32_t begin, int32_t end) {
    for (int32_t p = begin; p < end; ++p) {
      const Piece& piece = layout_.pieces[p];
      for (int32_t s = piece.lower; s < piece.upper; ++s) bytes_[s] -= piece.size;
    }
    return false;
  }

  const Layout& layout_;
  const int64_t capacity_;
  std::vector<int64_t> bytes_;
};

/// Fills one bank with what is offered, in this order.
class BankFiller {
 public:
  BankFiller(const BankBodies& bodies, int32_t bank, int64_t capacity, Deadline* deadline, SearchBudget* budget)
      : bodies_(bodies), bank_(bank), capacity_(capacity), deadline_(deadline), budget_(budget) {}

  /// The bodies that go into the bank; false when those that are pinned to it do not.
  bool run(const std::vector<int32_t>& offered) {
    choose(offered);
    if (!pack_longest_prefix()) return false;
    int tries = kRetries;
    for (const int32_t body : offered) {
      if (tries == 0) break;
      if (std::find(chosen_.begin(), chosen_.end(), body) != chosen_.end()) continue;
      --tries;
      chosen_.push_back(body);
      if (!pack(chosen_.size())) chosen_.pop_back();
    }
    return true;
  }

  const std::vector<int32_t>& chosen() const { return chosen_; }
  const std::vector<int64_t>& positions() const { return positions_; }

 private:
  void choose(const std::vector<int32_t>& offered) {
    Load load(bodies_.layout, capacity_);
    for (const int32_t body : offered) {
      const bool pinned = bodies_.pins[body] == bank_;
      pinned_ += pinned ? 1 : 0;
      if (load.add(body) || pinned) chosen_.push_back(body);
    }
  }

  bool pack(size_t count) {
    const std::vector<int32_t> first(chosen_.begin(), chosen_.begin() + static_cast<int64_t>(count));
    auto found = pack_bank(bodies_.layout, first, capacity_, deadline_, budget_);
    if (!found.has_value()) return false;
    positions_ = std::move(*found);
    return true;
  }

  bool pack_longest_prefix() {
    size_t most = chosen_.size();
    if (pack(most)) return true;
    size_t fits = pinned_;
    if (!pack(fits)) return false;
    while (fits + 1 < most) {
      const size_t middle = (fits + most) / 2;
      (pack(middle) ? fits : most) = middle;
    }
    chosen_.resize(fits);
    return pack(fits);
  }

  const BankBodies& bodies_;
  const int32_t bank_;
  const int64_t capacity_;
  Deadline* const deadline_;
  SearchBudget* const budget_;
  size_t pinned_ = 0;  // they are the first that are chosen
  std::vector<int32_t> chosen_;
  std::vector<int64_t> positions_;  // of the chosen
};

}  // namespace

std::optional<Filling> fill_in_turn(const BankBodies& bodies, const std::vector<Bank>& banks,
                                    const std::vector<int32_t>& order, Deadline* deadline, SearchBudget* budget) {
  Filling filling;
  filling.banks.assign(order.size(), -1);
  filling.positions.assign(order.size(), 0);
  for (size_t k = 0; k < banks.size(); ++k) {
    const int32_t bank = static_cast<int32_t>(k);
    std::vector<int32_t> offered;
    for (const int32_t body : order) {
      if (may_lie_in(banks, k, bodies.pins[body]) && filling.banks[body] < 0) offered.push_back(body);
    }
    BankFiller filler(bodies, bank, banks[k].capacity, deadline, budget);
    if (!filler.run(offered)) return std::nullopt;
    for (size_t i = 0; i < filler.chosen().size(); ++i) {
      const int32_t body = filler.chosen()[i];
      filling.banks[body] = bank;
      filling.positions[body] = filler.positions()[i];
      filling.cost += bodies.traffic[body] * banks[k].cost;
    }
  }
  const bool all = std::all_of(filling.banks.begin(), filling.banks.end(), [](int32_t bank) { return bank >= 0; });
  return all ? std::optional<Filling>(std::move(filling)) : std::nullopt;
}

}  // namespace berth::packing
