#include "compiler/ir/dim.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace berth::ir {
namespace {

constexpr int64_t kLimit = int64_t{1} << 62;
// Divisors that are joined stay below it, and so do their product and what is added.
constexpr int64_t kLargestJoined = int64_t{1} << 30;

int64_t saturate(__int128 x) {
  if (x > kLimit) return kLimit;
  if (x < -kLimit) return -kLimit;
  return static_cast<int64_t>(x);
}

int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q - ((a % b != 0) && ((a % b < 0) != (b < 0)));
}

// A number and symbols times numbers, all over one denominator.
struct Sum {
  __int128 number = 0;
  std::map<SymbolId, __int128> factors;
};

// Adds `factor` times `dim`, or something below that: what is rounded down by k lies at most (k - 1) / k under the
// quotient. False where numbers grow too large.
bool collect(const Symbols& symbols, Dim dim, __int128 factor, Sum& sum) {
  constexpr __int128 kMost = static_cast<__int128>(1) << 50;
  if (factor > kMost || factor < -kMost) return false;
  if (dim.is_constant()) {
    sum.number += factor * dim.value;
    return true;
  }
  const Symbol& s = symbols[dim.symbol];
  const bool by_number = !s.a.is_constant() && s.b.is_constant();
  if (s.kind == SymbolKind::kAdd) return collect(symbols, s.a, factor, sum) && collect(symbols, s.b, factor, sum);
  if (s.kind == SymbolKind::kMul && by_number) return collect(symbols, s.a, factor * s.b.value, sum);
  if (s.kind == SymbolKind::kFloorDiv && by_number && s.b.value > 0 && factor % s.b.value == 0) {
    const __int128 part = factor / s.b.value;
    if (factor > 0) sum.number -= part * (s.b.value - 1);
    return collect(symbols, s.a, part, sum);
  }
  sum.factors[dim.symbol] += factor;
  return true;
}

// A bound from below of (a + b) * sign in which what both share counts once: n - n / 2 is not negative.
std::optional<int64_t> least_sum(const Symbols& symbols, Dim a, Dim b, int sign) {
  constexpr int kMostTerms = 32;
  constexpr int64_t kCommon = 5040 * 16;  // quotients by small numbers and by powers of two stay whole
  Sum sum;
  if (symbols.terms(a) + symbols.terms(b) > kMostTerms) return {};
  if (!collect(symbols, a, sign * kCommon, sum) || !collect(symbols, b, sign * kCommon, sum)) return {};
  __int128 least = sum.number;
  for (const auto& [id, factor] : sum.factors) least += factor * (factor > 0 ? symbols[id].min : symbols[id].max);
  return saturate(least > 0 ? (least + kCommon - 1) / kCommon : -(-least / kCommon));
}

}  // namespace

// Symbols first, then constants, so that n + 1 and 1 + n meet; symbols by what they are, not by when they were made, so
// that what prints parses back to the same. Equal expressions are one symbol, so this follows one path only.
int Symbols::compare(Dim a, Dim b) const {
  if (a == b) return 0;
  if (a.is_constant() != b.is_constant()) return a.is_constant() ? 1 : -1;
  if (a.is_constant()) return a.value < b.value ? -1 : 1;
  const Symbol& s = symbols_[a.symbol];
  const Symbol& t = symbols_[b.symbol];
  if (s.kind != t.kind) return s.kind < t.kind ? -1 : 1;
  if (s.kind == SymbolKind::kInput) return s.name.compare(t.name);
  const int first = compare(s.a, t.a);
  return first != 0 ? first : compare(s.b, t.b);
}

Expected<Dim> Symbols::input(std::string_view name, int64_t min, int64_t max) {
  SymbolId id;
  if (const Symbol* found = find(name, &id)) {
    if (found->min == min && found->max == max) return Dim::of_symbol(id);
    return Failure{Error::kInvalidArgument, "symbol " + std::string(name), "declared twice with different ranges"};
  }
  if (min < 0 || max < min || max > kLimit) {
    return Failure{Error::kInvalidArgument, "symbol " + std::string(name), "its range is empty or negative"};
  }
  Symbol symbol;
  symbol.name = std::string(name);
  symbol.min = min;
  symbol.max = max;
  inputs_.emplace(symbol.name, symbols_.next_id());
  return Dim::of_symbol(symbols_.push_back(std::move(symbol)));
}

const Symbol* Symbols::find(std::string_view name, SymbolId* id) const {
  const auto found = inputs_.find(name);
  if (found == inputs_.end()) return nullptr;
  if (id != nullptr) *id = found->second;
  return &symbols_[found->second];
}

Dim Symbols::computed(SymbolKind kind, Dim a, Dim b, int64_t min, int64_t max) {
  if (min == max) return Dim(min);
  const auto [place, fresh] = computed_.emplace(Key(kind, a.value, a.symbol, b.value, b.symbol), SymbolId());
  if (!fresh) return Dim::of_symbol(place->second);
  place->second = symbols_.next_id();
  Symbol symbol;
  symbol.kind = kind;
  symbol.min = min;
  symbol.max = max;
  symbol.a = a;
  symbol.b = b;
  symbol.terms = std::min(terms(a) + terms(b), 1 << 20);
  return Dim::of_symbol(symbols_.push_back(std::move(symbol)));
}

Dim Symbols::add(Dim a, Dim b) {
  if (!ordered(a, b)) std::swap(a, b);
  if (b == Dim(0)) return a;
  if (a.is_constant()) return Dim(saturate(static_cast<__int128>(a.value) + b.value));
  // (x + c) + d is x + (c + d), and x + -1 * x is 0, so that differences of sizes come out plain.
  const Symbol left = symbols_[a.symbol];
  if (left.kind == SymbolKind::kAdd && left.b.is_constant()) {
    if (b.is_constant()) return add(left.a, Dim(saturate(static_cast<__int128>(left.b.value) + b.value)));
    return add(add(left.a, b), left.b);
  }
  if (!b.is_constant()) {
    const Symbol right = symbols_[b.symbol];
    if (right.kind == SymbolKind::kAdd && right.b.is_constant()) return add(add(a, right.a), right.b);
    const auto split = [&](Dim d, const Symbol& s) {  // x * c as (x, c)
      return s.kind == SymbolKind::kMul && s.b.is_constant() ? std::pair<Dim, int64_t>(s.a, s.b.value)
                                                             : std::pair<Dim, int64_t>(d, 1);
    };
    const auto [x, c] = split(a, left);
    const auto [y, d] = split(b, right);
    if (x == y) return mul(x, Dim(saturate(static_cast<__int128>(c) + d)));
  }
  int64_t least = saturate(static_cast<__int128>(lower(a)) + lower(b));
  int64_t most = saturate(static_cast<__int128>(upper(a)) + upper(b));
  if (!b.is_constant()) {
    if (const auto found = least_sum(*this, a, b, 1)) least = std::max(least, *found);
    if (const auto found = least_sum(*this, a, b, -1)) most = std::min(most, -*found);
  }
  return computed(SymbolKind::kAdd, a, b, least, most);
}

Dim Symbols::mul(Dim a, Dim b) {
  if (!ordered(a, b)) std::swap(a, b);
  if (b == Dim(1)) return a;
  if (b == Dim(0)) return Dim(0);
  if (a.is_constant()) return Dim(saturate(static_cast<__int128>(a.value) * b.value));
  if (b.is_constant()) {
    const Symbol left = symbols_[a.symbol];
    if (left.kind == SymbolKind::kMul && left.b.is_constant()) {
      return mul(left.a, Dim(saturate(static_cast<__int128>(left.b.value) * b.value)));
    }
    if (left.kind == SymbolKind::kAdd && left.b.is_constant()) return add(mul(left.a, b), mul(left.b, b));
  }
  const __int128 corners[] = {static_cast<__int128>(lower(a)) * lower(b), static_cast<__int128>(lower(a)) * upper(b),
                              static_cast<__int128>(upper(a)) * lower(b), static_cast<__int128>(upper(a)) * upper(b)};
  return computed(SymbolKind::kMul, a, b, saturate(*std::min_element(corners, corners + 4)),
                  saturate(*std::max_element(corners, corners + 4)));
}

Dim Symbols::floor_div(Dim a, Dim b) {
  BERTH_CHECK(lower(b) > 0 || upper(b) < 0);
  if (b == Dim(1)) return a;
  if (a.is_constant() && b.is_constant()) return Dim(ir::floor_div(a.value, b.value));
  if (a == b) return Dim(1);
  if (!a.is_constant() && b.is_constant()) {
    const Symbol left = symbols_[a.symbol];
    if (left.kind == SymbolKind::kMul && left.b.is_constant() && left.b.value % b.value == 0) {
      return mul(left.a, Dim(left.b.value / b.value));
    }
    // (x + c) / b with c from 0 to below b, so that different ways to count windows meet.
    if (left.kind == SymbolKind::kAdd && left.b.is_constant()) {
      const int64_t whole = ir::floor_div(left.b.value, b.value);
      if (whole != 0) return add(floor_div(add(left.a, Dim(left.b.value - whole * b.value)), b), Dim(whole));
    }
    // x * c / b is x / (b / c) where that is whole, and (x / c + d) / b is (x + d * c) / (c * b): halving twice is
    // dividing by 4, in whatever way a model says it.
    if (left.kind == SymbolKind::kMul && left.b.is_constant() && left.b.value > 0 && b.value % left.b.value == 0) {
      return floor_div(left.a, Dim(b.value / left.b.value));
    }
    const bool added = left.kind == SymbolKind::kAdd && left.b.is_constant();
    const Dim inner = added ? left.a : a;
    if (!inner.is_constant() && b.value > 0) {
      const Symbol quotient = symbols_[inner.symbol];
      const bool divided = quotient.kind == SymbolKind::kFloorDiv && quotient.b.is_constant() && quotient.b.value > 0;
      if (divided && quotient.b.value < kLargestJoined && b.value < kLargestJoined) {
        const Dim shift = added ? Dim(left.b.value * quotient.b.value) : Dim(0);
        return floor_div(add(quotient.a, shift), Dim(quotient.b.value * b.value));
      }
    }
  }
  const int64_t corners[] = {ir::floor_div(lower(a), lower(b)), ir::floor_div(lower(a), upper(b)),
                             ir::floor_div(upper(a), lower(b)), ir::floor_div(upper(a), upper(b))};
  return computed(SymbolKind::kFloorDiv, a, b, *std::min_element(corners, corners + 4),
                  *std::max_element(corners, corners + 4));
}

Dim Symbols::ceil_div(Dim a, Dim b) { return mul(floor_div(mul(a, Dim(-1)), b), Dim(-1)); }

Dim Symbols::mod(Dim a, Dim b) {
  BERTH_CHECK(lower(b) > 0 || upper(b) < 0);
  if (a.is_constant() && b.is_constant()) return Dim(a.value - ir::floor_div(a.value, b.value) * b.value);
  if (b == Dim(1) || a == b) return Dim(0);
  const int64_t low = lower(b) > 0 ? 0 : lower(b) + 1;
  const int64_t high = lower(b) > 0 ? upper(b) - 1 : 0;
  return computed(SymbolKind::kMod, a, b, low, high);
}

Dim Symbols::max(Dim a, Dim b) {
  if (a == b || lower(a) >= upper(b)) return a;
  if (lower(b) >= upper(a)) return b;
  if (!ordered(a, b)) std::swap(a, b);
  return computed(SymbolKind::kMax, a, b, std::max(lower(a), lower(b)), std::max(upper(a), upper(b)));
}

Dim Symbols::min(Dim a, Dim b) {
  if (a == b || upper(a) <= lower(b)) return a;
  if (upper(b) <= lower(a)) return b;
  if (!ordered(a, b)) std::swap(a, b);
  return computed(SymbolKind::kMin, a, b, std::min(lower(a), lower(b)), std::min(upper(a), upper(b)));
}

std::string Symbols::text(Dim dim) const {
  if (dim.is_constant()) return std::to_string(dim.value);
  const Symbol& s = symbols_[dim.symbol];
  switch (s.kind) {
    case SymbolKind::kInput: return s.name;
    case SymbolKind::kAdd: return "(" + text(s.a) + " + " + text(s.b) + ")";
    case SymbolKind::kMul: return "(" + text(s.a) + " * " + text(s.b) + ")";
    case SymbolKind::kFloorDiv: return "floordiv(" + text(s.a) + ", " + text(s.b) + ")";
    case SymbolKind::kMod: return "mod(" + text(s.a) + ", " + text(s.b) + ")";
    case SymbolKind::kMax: return "max(" + text(s.a) + ", " + text(s.b) + ")";
    case SymbolKind::kMin: return "min(" + text(s.a) + ", " + text(s.b) + ")";
  }
  return "?";
}

}  // namespace berth::ir
