#include "compiler/memory/packing/search_fillings.h"

#include "compiler/memory/packing/pack_bank.h"
#include "compiler/memory/packing/search_choices.h"

namespace berth::packing {
namespace {

/// How much may be spent on laying choices out: bodies of each choice, squared.
constexpr int64_t kMostPacking = 400'000;
/// Banks that no rule fills are searched exactly, so many times; then a choice that no rule packs is passed over.
constexpr int64_t kMostExactSearches = 128;
/// What prices are made for when nothing is known that fits: the cost of everything in the last bank.
int64_t cost_of_last(const BankChoices& choices) {
  int64_t cost = 0;
  for (const BankItem& item : choices.items) {
    cost += choices.cost(item, item.pin == kAnyBank ? choices.banks.size() - 1 : static_cast<size_t>(item.pin));
  }
  return cost;
}

class FillingJudge {
 public:
  FillingJudge(const BankBodies& bodies, const std::vector<Bank>& banks, Deadline* deadline)
      : bodies_(bodies), banks_(banks), deadline_(deadline) {}

  ChoiceVerdict judge(const std::vector<int32_t>& banks, int64_t cost) {
    const int64_t count = static_cast<int64_t>(banks.size());
    if (spent_ > 0 && spent_ + count * count > kMostPacking) return ChoiceVerdict::kGiveUp;
    spent_ += count * count;
    Filling filling{banks, std::vector<int64_t>(banks.size(), 0), cost};
    for (size_t k = 0; k < banks_.size(); ++k) {
      std::vector<int32_t> own;
      for (size_t b = 0; b < banks.size(); ++b) {
        if (banks[b] == static_cast<int32_t>(k)) own.push_back(static_cast<int32_t>(b));
      }
      bool proof = false;
      const auto positions = pack_bank(bodies_.layout, own, banks_[k].capacity, deadline_, &budget_, &proof);
      if (!positions.has_value()) return proof ? ChoiceVerdict::kRefused : ChoiceVerdict::kUnknown;
      for (size_t i = 0; i < own.size(); ++i) filling.positions[own[i]] = (*positions)[i];
    }
    best_ = std::move(filling);
    return ChoiceVerdict::kTaken;
  }

  std::optional<Filling>& best() { return best_; }

 private:
  const BankBodies& bodies_;
  const std::vector<Bank>& banks_;
  Deadline* const deadline_;
  SearchBudget budget_{kMostExactSearches};
  int64_t spent_ = 0;
  std::optional<Filling> best_;
};

}  // namespace

std::optional<Filling> search_fillings(const BankBodies& bodies, const std::vector<Bank>& banks, int64_t below,
                                       Deadline* deadline, bool* complete) {
  *complete = false;
  const BankChoices choices = choices_of_bodies(bodies, banks);
  if (choices.items.size() > kMostItemsSearched || !choices.has_small_tables()) return std::nullopt;
  BankPrices prices(choices);
  prices.improve(below == kUnlimited ? cost_of_last(choices) : below, deadline);
  FillingJudge judge(bodies, banks, deadline);
  const ChoiceSearchResult result =
      search_choices(choices, prices, below, deadline,
                     [&](const std::vector<int32_t>& chosen, int64_t cost) { return judge.judge(chosen, cost); });
  *complete = result.complete;
  return std::move(judge.best());
}

}  // namespace berth::packing
