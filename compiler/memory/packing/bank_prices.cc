#include "compiler/memory/packing/bank_prices.h"

#include <algorithm>
#include <cmath>

namespace berth::packing {
namespace {

/// How often prices change at most, and how many numbers are computed for it.
constexpr int kMostPriceRounds = 400;
constexpr int64_t kMostPriceWork = 60'000'000;
/// After as many rounds without a better bound, prices change by half as much.
constexpr int kPricePatience = 8;
/// Rounding: of a sum of terms whose magnitudes have the sum 1.
constexpr double kPriceRounding = 1e-11;

}  // namespace

BankPrices::BankPrices(const BankChoices& choices)
    : choices_(choices), prices_(cell(choices.banks.size(), 0), 0), sums_(prices_.size(), 0) {
  settle();
}

double BankPrices::price_of(const BankItem& item, size_t bank) const {
  double price = 0;
  for (int32_t r = item.begin; r < item.end; ++r) {
    const BankRun& run = choices_.runs[r];
    price += static_cast<double>(run.bytes) * (sums_[cell(bank, run.upper)] - sums_[cell(bank, run.lower)]);
  }
  return price;
}

void BankPrices::sum_up() {
  for (size_t k = 0; k < choices_.banks.size(); ++k) {
    double sum = 0;
    for (int32_t s = 0; s <= choices_.sections; ++s) {
      sums_[cell(k, s)] = sum;
      sum += prices_[cell(k, s)];
    }
  }
}

double BankPrices::given_back() const {
  double sum = 0;
  for (size_t k = 0; k < choices_.banks.size(); ++k) {
    if (is_limited(k)) sum += static_cast<double>(choices_.banks[k].capacity) * sums_[cell(k, choices_.sections)];
  }
  return sum;
}

BankPrices::Choice BankPrices::choose() {
  sum_up();
  Choice choice;
  choice.load.assign(prices_.size(), 0);
  choice.value = -given_back();
  for (const BankItem& item : choices_.items) {
    size_t best = choices_.banks.size();
    double least = 0;
    for (size_t k = 0; k < choices_.banks.size(); ++k) {
      if (!choices_.may(item, k)) continue;
      const double cost = static_cast<double>(choices_.cost(item, k)) + (is_limited(k) ? price_of(item, k) : 0);
      if (best < choices_.banks.size() && cost >= least) continue;
      best = k;
      least = cost;
    }
    choice.value += least;
    for (int32_t r = item.begin; r < item.end; ++r) {
      const BankRun& run = choices_.runs[r];
      choice.load[cell(best, run.lower)] += static_cast<double>(run.bytes);
      choice.load[cell(best, run.upper)] -= static_cast<double>(run.bytes);
    }
  }
  for (size_t k = 0; k < choices_.banks.size(); ++k) {
    for (int32_t s = 1; s < choices_.sections; ++s) choice.load[cell(k, s)] += choice.load[cell(k, s - 1)];
  }
  return choice;
}

/// Makes bytes dearer where the load is over the capacity, cheaper where it is below; false when nothing is to change.
bool BankPrices::step(const Choice& choice, double length) {
  const auto over = [&](size_t k, int32_t s) {
    return choice.load[cell(k, s)] - static_cast<double>(choices_.banks[k].capacity);
  };
  double norm = 0;
  for (size_t k = 0; k < choices_.banks.size(); ++k) {
    for (int32_t s = 0; is_limited(k) && s < choices_.sections; ++s) {
      const double by = over(k, s);
      if (by > 0 || prices_[cell(k, s)] > 0) norm += by * by;
    }
  }
  if (norm <= 0) return false;
  for (size_t k = 0; k < choices_.banks.size(); ++k) {
    for (int32_t s = 0; is_limited(k) && s < choices_.sections; ++s) {
      double& price = prices_[cell(k, s)];
      price = std::max(0.0, price + length / norm * over(k, s));
    }
  }
  return true;
}

void BankPrices::improve(int64_t cost, Deadline* deadline) {
  const int64_t work = static_cast<int64_t>(3 * prices_.size() + choices_.banks.size() * choices_.runs.size()) + 1;
  const double goal = static_cast<double>(cost);
  std::vector<double> best = prices_;
  double highest = choose().value;
  double pace = 1;
  int without = 0;
  for (int round = 0; round < kMostPriceRounds && round < kMostPriceWork / work; ++round) {
    if (deadline->passed_after(work)) break;
    const Choice choice = choose();
    without = choice.value > highest ? 0 : without + 1;
    if (without == 0) {
      highest = choice.value;
      best = prices_;
    }
    if (without == kPricePatience) {
      pace /= 2;
      without = 0;
    }
    if (choice.value >= goal || !step(choice, pace * (goal - choice.value))) break;
  }
  prices_ = std::move(best);
  settle();
}

void BankPrices::settle() {
  sum_up();
  given_back_ = given_back();
  slack_ = given_back_;
  priced_.assign(choices_.items.size() * choices_.banks.size(), 0);
  for (size_t i = 0; i < choices_.items.size(); ++i) {
    const BankItem& item = choices_.items[i];
    double most = 0;
    for (size_t k = 0; k < choices_.banks.size(); ++k) {
      if (!choices_.may(item, k)) continue;
      const double price = is_limited(k) ? price_of(item, k) : 0;
      priced_[i * choices_.banks.size() + k] = static_cast<double>(choices_.cost(item, k)) + price;
      most = std::max(most, static_cast<double>(choices_.cost(item, k)) + price);
    }
    slack_ += most;
  }
  slack_ = slack_ * kPriceRounding + 1e-6;
}

int64_t BankPrices::bound(double priced) const {
  const double value = std::ceil(priced - given_back_ - slack_);
  constexpr double kMost = 4.6e18;  // below 2^62
  return static_cast<int64_t>(std::clamp(value, 0.0, kMost));
}

int64_t BankPrices::bound() const {
  double sum = 0;
  for (size_t i = 0; i < choices_.items.size(); ++i) {
    double least = -1;
    for (size_t k = 0; k < choices_.banks.size(); ++k) {
      if (!choices_.may(choices_.items[i], k)) continue;
      if (least < 0 || priced(i, k) < least) least = priced(i, k);
    }
    sum += least;
  }
  return bound(sum);
}

}  // namespace berth::packing
