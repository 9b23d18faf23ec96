#include "compiler/ir/dim.h"

#include <algorithm>
#include <utility>

#include "compiler/ir/sums.h"

namespace berth::ir {
namespace {

// How many times `one` the sum `of` is, whatever the sizes are.
std::optional<int64_t> exact_quotient(const std::optional<Linear>& of, const std::optional<Linear>& one) {
  if (!of || !one || one->factors.empty() || of->factors.size() != one->factors.size()) return {};
  const auto& [first, factor] = *one->factors.begin();
  const auto same = of->factors.find(first);
  if (same == of->factors.end() || same->second % factor != 0) return {};
  const int64_t times = same->second / factor;
  const auto is_multiple = [&](int64_t whole, int64_t part) { return whole == static_cast<__int128>(part) * times; };
  for (const auto& [symbol, part] : one->factors) {
    const auto whole = of->factors.find(symbol);
    if (whole == of->factors.end() || !is_multiple(whole->second, part)) return {};
  }
  return is_multiple(of->number, one->number) ? std::optional(times) : std::nullopt;
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

Expected<Dim> Symbols::input(std::string_view name, int64_t min, int64_t max, int64_t step) {
  SymbolId id;
  if (const Symbol* found = find(name, &id)) {
    if (found->min == min && found->max == max && found->step == step) return Dim::of_symbol(id);
    return Failure{Error::kInvalidArgument, "symbol " + std::string(name), "declared twice with different ranges"};
  }
  if (min < 0 || max < min || max > kLargestSize) {
    return Failure{Error::kInvalidArgument, "symbol " + std::string(name), "its range is empty or negative"};
  }
  if (step < 1 || step > kLargestJoined || (step > 1 && (max == min || (max - min) % step != 0))) {
    return Failure{Error::kInvalidArgument, "symbol " + std::string(name), "its range does not end after whole steps"};
  }
  Symbol symbol;
  symbol.name = std::string(name);
  symbol.min = min;
  symbol.max = max;
  symbol.step = step;
  inputs_.emplace(symbol.name, symbols_.next_id());
  id = symbols_.push_back(std::move(symbol));
  const Dim made = Dim::of_symbol(id);
  if (step == 1) return made;
  const int64_t offset = min % step;
  const Dim multiple = offset == 0 ? made : computed(SymbolKind::kAdd, made, Dim(-offset), min - offset, max - offset);
  const Dim unit = computed(SymbolKind::kFloorDiv, multiple, Dim(step), min / step, max / step);
  symbols_[id].unit = unit.symbol;
  symbols_[unit.symbol].whole = id;
  return made;
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
  if (const std::optional<Linear> sum = sum_of_both(linear(a), linear(b), 1)) return sum_of(*sum);
  int64_t least = saturate(static_cast<__int128>(lower(a)) + lower(b));
  int64_t most = saturate(static_cast<__int128>(upper(a)) + upper(b));
  return computed(SymbolKind::kAdd, a, b, least, most);
}

Dim Symbols::mul(Dim a, Dim b) {
  if (!ordered(a, b)) std::swap(a, b);
  if (b == Dim(1)) return a;
  if (b == Dim(0)) return Dim(0);
  if (a.is_constant()) return Dim(saturate(static_cast<__int128>(a.value) * b.value));
  if (b.is_constant()) {
    if (const std::optional<Linear> sum = sum_of_both(Linear(), linear(a), b.value)) return sum_of(*sum);
  }
  return product(a, b);
}

Dim Symbols::product(Dim a, Dim b) {
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
  if (b.is_constant() && b.value > 0) {
    if (std::optional<Linear> sum = linear(a)) return quotient(a, std::move(*sum), b.value);
  }
  if (const std::optional<int64_t> times = exact_quotient(linear(a), linear(b))) return Dim(*times);
  return cancel(&a, &b) ? floor_div(a, b) : rounded_quotient(a, b);
}

Dim Symbols::rounded_quotient(Dim a, Dim b) {
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
  if (b.is_constant() && b.value > 0) {
    if (std::optional<Linear> sum = linear(a)) {
      for (auto& [symbol, factor] : sum->factors) factor = factor % b.value == 0 ? 0 : factor;
      sum->number -= ir::floor_div(sum->number, b.value) * b.value;
      a = sum_of(*sum);
    }
    if (lower(a) >= 0 && upper(a) < b.value) return a;
  }
  Dim whole = a, parts = b;
  if (cancel(&whole, &parts) && parts == Dim(1)) return Dim(0);
  const int64_t low = lower(b) > 0 ? 0 : lower(b) + 1;
  const int64_t high = lower(b) > 0 ? upper(b) - 1 : 0;
  return computed(SymbolKind::kMod, a, b, low, high);
}

Dim Symbols::max(Dim a, Dim b) {
  if (is_at_most(b, a)) return a;
  if (is_at_most(a, b)) return b;
  if (!ordered(a, b)) std::swap(a, b);
  return computed(SymbolKind::kMax, a, b, std::max(lower(a), lower(b)), std::max(upper(a), upper(b)));
}

Dim Symbols::min(Dim a, Dim b) {
  if (is_at_most(a, b)) return a;
  if (is_at_most(b, a)) return b;
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

std::string Symbols::text(const SizeRelation& relation) const {
  if (relation.kind == SizeRelation::Kind::kNamed) return relation.name + " == " + text(relation.a);
  return text(relation.a) + (relation.kind == SizeRelation::Kind::kEqual ? " == " : " <= ") + text(relation.b);
}

}  // namespace berth::ir
