#include "compiler/memory/packing/search_choices.h"

#include <algorithm>
#include <numeric>

namespace berth::packing {
namespace {

/// How many choices are looked at, those of some of the items included, and how many sections for them.
constexpr int64_t kMostVisited = 400'000;
constexpr int64_t kMostSections = 40'000'000;

class ChoiceSearch {
 public:
  using Judge = std::function<ChoiceVerdict(const std::vector<int32_t>& banks, int64_t cost)>;

  ChoiceSearch(const BankChoices& choices, const BankPrices& prices, int64_t below, Deadline* deadline,
               const Judge& judge)
      : choices_(choices),
        prices_(prices),
        deadline_(deadline),
        judge_(judge),
        banks_(choices.items.size(), -1),
        loads_(choices.banks.size() * choices.sections, 0) {
    result_.below = below;
    result_.complete = true;
    rank_banks();
    order_items();
  }

  ChoiceSearchResult run() {
    visit(0, 0, 0);
    return result_;
  }

 private:
  struct Ranked {
    int32_t bank;
    double priced;
  };

  /// Of each item its banks, the best first.
  void rank_banks() {
    ranked_.resize(choices_.items.size());
    for (size_t i = 0; i < choices_.items.size(); ++i) {
      for (size_t k = 0; k < choices_.banks.size(); ++k) {
        if (!choices_.may(choices_.items[i], k)) continue;
        ranked_[i].push_back({static_cast<int32_t>(k), prices_.priced(i, k)});
      }
      std::stable_sort(ranked_[i].begin(), ranked_[i].end(),
                       [](const Ranked& a, const Ranked& b) { return a.priced < b.priced; });
    }
  }

  /// What moves most first, and from each depth what the rest costs at least.
  void order_items() {
    order_.resize(choices_.items.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](int32_t a, int32_t b) { return choices_.items[a].traffic > choices_.items[b].traffic; });
    rest_.assign(order_.size() + 1, 0);
    for (size_t d = order_.size(); d-- > 0;) rest_[d] = rest_[d + 1] + ranked_[order_[d]].front().priced;
  }

  bool is_over() {
    if (over_ || (visited_ <= kMostVisited && touched_ <= kMostSections && !deadline_->passed_after(100))) return over_;
    over_ = true;
    result_.complete = false;
    return true;
  }

  void visit(size_t depth, double priced, int64_t cost) {
    ++visited_;
    if (is_over()) return;
    if (depth == order_.size()) return give(cost);
    const int32_t item = order_[depth];
    for (const Ranked& ranked : ranked_[item]) {
      const double so_far = priced + ranked.priced;
      // The others of this item cost more.
      if (prices_.bound(so_far + rest_[depth + 1]) >= result_.below) return;
      const int64_t with = cost + choices_.cost(choices_.items[item], ranked.bank);
      if (with >= result_.below || !put(item, ranked.bank)) continue;
      banks_[item] = ranked.bank;
      visit(depth + 1, so_far, with);
      take_back(choices_.items[item].begin, choices_.items[item].end, ranked.bank);
      if (over_) return;
    }
  }

  void give(int64_t cost) {
    switch (judge_(banks_, cost)) {
      case ChoiceVerdict::kTaken: result_.below = cost; break;
      case ChoiceVerdict::kRefused: break;
      case ChoiceVerdict::kUnknown: result_.complete = false; break;
      case ChoiceVerdict::kGiveUp:
        result_.complete = false;
        over_ = true;
        break;
    }
  }

  int64_t& load(size_t bank, int32_t section) { return loads_[bank * choices_.sections + section]; }

  /// Adds the item's bytes to the bank, unless a section then has more than the capacity.
  bool put(int32_t item, int32_t bank) {
    const int64_t capacity = choices_.banks[bank].capacity;
    const BankItem& own = choices_.items[item];
    for (int32_t r = own.begin; r < own.end; ++r) {
      const BankRun& run = choices_.runs[r];
      touched_ += run.upper - run.lower;
      for (int32_t s = run.lower; s < run.upper; ++s) {
        if (load(bank, s) <= capacity - run.bytes) continue;
        take_back(own.begin, r, bank);
        return false;
      }
      for (int32_t s = run.lower; s < run.upper; ++s) load(bank, s) += run.bytes;
    }
    return true;
  }

  void take_back(int32_t begin, int32_t end, int32_t bank) {
    for (int32_t r = begin; r < end; ++r) {
      const BankRun& run = choices_.runs[r];
      for (int32_t s = run.lower; s < run.upper; ++s) load(bank, s) -= run.bytes;
    }
  }

  const BankChoices& choices_;
  const BankPrices& prices_;
  Deadline* const deadline_;
  const Judge& judge_;
  std::vector<int32_t> banks_;
  std::vector<int64_t> loads_;  // of each bank and section
  std::vector<std::vector<Ranked>> ranked_;
  std::vector<int32_t> order_;
  std::vector<double> rest_;
  int64_t visited_ = 0;
  int64_t touched_ = 0;
  bool over_ = false;
  ChoiceSearchResult result_;
};

}  // namespace

ChoiceSearchResult search_choices(
    const BankChoices& choices, const BankPrices& prices, int64_t below, Deadline* deadline,
    const std::function<ChoiceVerdict(const std::vector<int32_t>& banks, int64_t cost)>& judge) {
  return ChoiceSearch(choices, prices, below, deadline, judge).run();
}

}  // namespace berth::packing
