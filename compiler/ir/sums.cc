// Sizes as sums: their normal form, and bounds of them in which what terms share counts once.
#include "compiler/ir/sums.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/math.h"

namespace berth::ir {
namespace {

constexpr size_t kMostTerms = 16;
constexpr size_t kMostRelations = 16;
constexpr int kMostTries = 256;          // of relations, for one bound
constexpr int64_t kMostNarrowed = 1024;  // sums that new relations narrow, in all

// A number and symbols times numbers, all over one denominator.
struct ScaledSum {
  __int128 number = 0;
  std::map<SymbolId, __int128> factors;
};

// Adds `factor` times `dim`, or something below that: what is rounded down by k lies at most (k - 1) / k under the
// quotient. False where numbers grow too large.
bool collect(const Symbols& symbols, Dim dim, __int128 factor, ScaledSum& sum) {
  constexpr __int128 kMost = static_cast<__int128>(1) << 50;
  if (factor > kMost || factor < -kMost) return false;
  if (dim.is_constant()) {
    sum.number += factor * dim.value;
    return true;
  }
  const Symbol& s = symbols[dim.symbol];
  const bool by_number = !s.a.is_constant() && s.b.is_constant();
  if (s.unit.valid()) {
    sum.number += factor * s.offset();
    return collect(symbols, Dim::of_symbol(s.unit), factor * s.step, sum);
  }
  if (s.kind == SymbolKind::kAdd) return collect(symbols, s.a, factor, sum) && collect(symbols, s.b, factor, sum);
  if (s.kind == SymbolKind::kMul && by_number) return collect(symbols, s.a, factor * s.b.value, sum);
  const bool rounds = s.kind == SymbolKind::kFloorDiv && by_number && !s.whole.valid();
  if (rounds && s.b.value > 0 && factor % s.b.value == 0) {
    const __int128 part = factor / s.b.value;
    if (factor > 0) sum.number -= part * (s.b.value - 1);
    return collect(symbols, s.a, part, sum);
  }
  sum.factors[dim.symbol] += factor;
  return true;
}

__int128 least_of(const Symbols& symbols, const ScaledSum& sum) {
  __int128 least = sum.number;
  for (const auto& [id, factor] : sum.factors) least += factor * (factor > 0 ? symbols[id].min : symbols[id].max);
  return least;
}

// A relation says that b - a is not negative, so a sum less a multiple of it is a lower bound. Tries the multiples that
// cancel one of the sum's symbols. Each bound on the way is valid, so the search may end when `*tries` are used up.
__int128 least_with(const Symbols& symbols, const ScaledSum& sum, int relations, int* tries) {
  __int128 least = least_of(symbols, sum);
  if (relations == 0) return least;
  const std::vector<SizeRelation>& all = symbols.relations();
  for (size_t i = 0; i < std::min(all.size(), kMostRelations); ++i) {
    if (all[i].kind == SizeRelation::Kind::kNamed) continue;
    for (const int sign : {1, -1}) {
      if (sign < 0 && all[i].kind != SizeRelation::Kind::kEqual) break;
      const Dim greater = sign > 0 ? all[i].b : all[i].a;
      const Dim lesser = sign > 0 ? all[i].a : all[i].b;
      ScaledSum rest;
      if (!collect(symbols, greater, 1, rest) || !collect(symbols, lesser, -1, rest)) continue;
      for (const auto& [id, factor] : rest.factors) {
        const auto found = sum.factors.find(id);
        if (factor == 0 || found == sum.factors.end() || found->second % factor != 0) continue;
        if (--*tries < 0) return least;
        const __int128 times = found->second / factor;
        ScaledSum without = sum;
        if (times <= 0 || !collect(symbols, greater, -times, without) || !collect(symbols, lesser, times, without)) {
          continue;
        }
        least = std::max(least, least_with(symbols, without, relations - 1, tries));
      }
    }
  }
  return least;
}

}  // namespace

int64_t saturate(__int128 x) {
  if (x > kLargestSize) return kLargestSize;
  if (x < -kLargestSize) return -kLargestSize;
  return static_cast<int64_t>(x);
}

int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q - ((a % b != 0) && ((a % b < 0) != (b < 0)));
}

std::optional<Linear> sum_of_both(std::optional<Linear> a, const std::optional<Linear>& b, int64_t times) {
  if (!a || !b) return {};
  const auto fits = [](int64_t x) { return x < kLargestSize && x > -kLargestSize; };
  const auto add = [&](int64_t& to, int64_t number) {
    return checked_mul(number, times, &number) && checked_add(to, number, &to) && fits(to);
  };
  if (!add(a->number, b->number)) return {};
  for (const auto& [symbol, factor] : b->factors) {
    int64_t& own = a->factors[symbol];
    if (!add(own, factor)) return {};
    if (own == 0) a->factors.erase(symbol);
  }
  if (a->factors.size() > kMostTerms) return {};
  return a;
}

std::optional<Linear> Symbols::linear(Dim dim) const {
  Linear own;
  if (dim.is_constant()) {
    own.number = dim.value;
    return own;
  }
  const Symbol& s = symbols_[dim.symbol];
  if (s.terms > kMostMentioned) return {};
  if (s.unit.valid()) {
    own.number = s.offset();
    own.factors[s.unit] = s.step;
    return own;
  }
  if (s.kind == SymbolKind::kAdd) return sum_of_both(linear(s.a), linear(s.b), 1);
  if (s.kind == SymbolKind::kMul && s.b.is_constant()) return sum_of_both(Linear(), linear(s.a), s.b.value);
  own.factors[dim.symbol] = 1;
  return own;
}

// Terms in the order of what they are, numbers last: ((a + b * 2) + 1). Inputs with a step stand for as many units.
Dim Symbols::sum_of(const Linear& linear) {
  int64_t number = linear.number;
  std::vector<std::pair<Dim, int64_t>> terms;
  for (const auto& [symbol, factor] : linear.factors) {
    if (factor == 0) continue;
    const SymbolId whole = symbols_[symbol].whole;
    if (whole.valid() && factor % symbols_[whole].step == 0) {
      const int64_t times = factor / symbols_[whole].step;
      terms.emplace_back(Dim::of_symbol(whole), times);
      number = saturate(static_cast<__int128>(number) - static_cast<__int128>(times) * symbols_[whole].offset());
    } else {
      terms.emplace_back(Dim::of_symbol(symbol), factor);
    }
  }
  std::sort(terms.begin(), terms.end(), [&](const auto& x, const auto& y) { return compare(x.first, y.first) < 0; });
  Dim sum(0);
  const auto append = [&](Dim term) {
    if (sum == Dim(0)) {
      sum = term;
    } else {
      const auto least = least_sum(sum, 1, term, 1);
      const auto most = least_sum(sum, -1, term, -1);
      const int64_t low = saturate(static_cast<__int128>(lower(sum)) + lower(term));
      const int64_t high = saturate(static_cast<__int128>(upper(sum)) + upper(term));
      sum = computed(SymbolKind::kAdd, sum, term, least ? std::max(*least, low) : low,
                     most ? std::min(-*most, high) : high);
    }
  };
  for (const auto& [symbol, factor] : terms) {
    const Dim term = factor == 1 ? symbol : product(symbol, Dim(factor));
    if (term.is_constant()) {
      number = saturate(static_cast<__int128>(number) + term.value);
    } else {
      append(term);
    }
    if (!sum.is_constant()) continue;
    number = saturate(static_cast<__int128>(number) + sum.value);
    sum = Dim(0);
  }
  if (sum == Dim(0)) return Dim(number);
  if (number != 0) append(Dim(number));
  return sum;
}

// Terms that the divisor divides are divided exactly; the others and the number, by what they share with the divisor.
Dim Symbols::quotient(Dim dividend, Linear linear, int64_t divisor) {
  const int64_t by = divisor;
  Linear whole;
  int64_t common = divisor;
  for (auto term = linear.factors.begin(); term != linear.factors.end();) {
    if (term->second % divisor == 0) {
      whole.factors[term->first] = term->second / divisor;
      term = linear.factors.erase(term);
    } else {
      common = std::gcd(common, term->second);
      ++term;
    }
  }
  if (linear.factors.empty()) {
    whole.number = ir::floor_div(linear.number, divisor);
    return sum_of(whole);
  }
  for (auto& term : linear.factors) term.second /= common;
  linear.number = ir::floor_div(linear.number, common);
  divisor /= common;
  // Rounded up, as -(-x / b), is (x + b - 1) / b.
  const bool negative = std::all_of(linear.factors.begin(), linear.factors.end(), [](auto& t) { return t.second < 0; });
  if (negative) {
    for (auto& term : linear.factors) term.second = -term.second;
    linear.number = divisor - 1 - linear.number;
  }
  // (x + c) / b with c from 0 to below b, so that different ways to count windows meet.
  whole.number = ir::floor_div(linear.number, divisor);
  linear.number -= whole.number * divisor;
  // (x / c + d) / b is (x + d * c) / (c * b): halving twice is dividing by 4, in whatever way a model says it.
  const auto& [first, factor] = *linear.factors.begin();
  const Symbol inner = symbols_[first];
  const bool divided = inner.kind == SymbolKind::kFloorDiv && inner.b.is_constant() && inner.b.value > 0;
  Dim rounded;
  if (linear.factors.size() == 1 && factor == 1 && divided && !inner.whole.valid() && inner.b.value < kLargestJoined &&
      divisor < kLargestJoined) {
    rounded = floor_div(add(inner.a, Dim(linear.number * inner.b.value)), Dim(divisor * inner.b.value));
  } else {
    rounded = rounded_quotient(sum_of(linear), Dim(divisor));
  }
  if (negative) whole.number = -whole.number;
  const std::optional<Linear> sum = sum_of_both(whole, this->linear(rounded), negative ? -1 : 1);
  return sum ? sum_of(*sum) : rounded_quotient(dividend, Dim(by));
}

std::optional<int64_t> Symbols::least_sum(Dim a, int sign_of_a, Dim b, int sign_of_b) const {
  constexpr int64_t kCommon = 5040 * 16;  // quotients by small numbers and by powers of two stay whole
  constexpr int kMostOfBoth = 32;
  constexpr int kMostRelationsAtOnce = 2;
  ScaledSum sum;
  if (terms(a) + terms(b) > kMostOfBoth) return {};
  if (!collect(*this, a, sign_of_a * kCommon, sum) || !collect(*this, b, sign_of_b * kCommon, sum)) return {};
  int tries = kMostTries;
  const __int128 least = least_with(*this, sum, relations_.empty() ? 0 : kMostRelationsAtOnce, &tries);
  return saturate(least > 0 ? (least + kCommon - 1) / kCommon : -(-least / kCommon));
}

bool Symbols::is_at_most(Dim a, Dim b) const {
  if (a == b || upper(a) <= lower(b)) return true;
  if (a.is_constant() && b.is_constant()) return a.value <= b.value;
  const std::optional<int64_t> least = least_sum(b, 1, a, -1);
  return least && *least >= 0;
}

bool Symbols::has_name(std::string_view name) const {
  const auto is_so_called = [&](const SizeRelation& r) {
    return r.kind == SizeRelation::Kind::kNamed && r.name == name;
  };
  return find(name) != nullptr || std::any_of(relations_.begin(), relations_.end(), is_so_called);
}

std::set<std::string> Symbols::relations_about(SymbolId id) const {
  std::set<std::string> texts;
  for (const SizeRelation& relation : relations_) {
    std::vector<Dim> open = {relation.a, relation.b};
    std::set<SymbolId> seen;
    while (!open.empty()) {
      const Dim dim = open.back();
      open.pop_back();
      if (dim.is_constant() || !seen.insert(dim.symbol).second) continue;
      const Symbol& symbol = symbols_[dim.symbol];
      if (symbol.kind == SymbolKind::kInput) continue;
      open.push_back(symbol.a);
      open.push_back(symbol.b);
    }
    if (seen.count(id) != 0) texts.insert(text(relation));
  }
  return texts;
}

void Symbols::assume(SizeRelation relation) {
  relations_.push_back(std::move(relation));
  const SizeRelation& last = relations_.back();
  if (last.kind == SizeRelation::Kind::kNamed || relations_.size() > kMostRelations) return;
  const auto narrow = [&](Symbol& symbol, int64_t least, int64_t most) {
    symbol.min = std::max(symbol.min, std::min(least, symbol.max));
    symbol.max = std::min(symbol.max, std::max(most, symbol.min));
  };
  for (Symbol& symbol : symbols_) {
    if (symbol.kind != SymbolKind::kAdd) continue;
    if (++narrowed_ > kMostNarrowed) return;
    const auto least = least_sum(symbol.a, 1, symbol.b, 1);
    const auto most = least_sum(symbol.a, -1, symbol.b, -1);
    if (least && most) narrow(symbol, *least, -*most);
  }
  const bool equal = last.kind == SizeRelation::Kind::kEqual;
  const auto is_computed = [&](Dim dim) {
    return !dim.is_constant() && symbols_[dim.symbol].kind != SymbolKind::kInput;
  };
  if (last.b.is_constant() && is_computed(last.a)) {
    narrow(symbols_[last.a.symbol], equal ? last.b.value : -kLargestSize, last.b.value);
  }
  if (last.a.is_constant() && is_computed(last.b)) {
    narrow(symbols_[last.b.symbol], last.a.value, equal ? last.a.value : kLargestSize);
  }
}

}  // namespace berth::ir
