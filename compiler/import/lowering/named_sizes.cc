#include "compiler/import/lowering/named_sizes.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

#include "compiler/import/lowering/size_relation.h"

namespace berth::lowering {
namespace {

using ir::Dim;
using ir::Linear;
using ir::SizeRelation;
using ir::SymbolId;
using Kind = SizeRelation::Kind;

constexpr int kMostRounds = 32;
constexpr int64_t kMostFactor = int64_t{1} << 31;  // of what is solved: products of two stay within 2^62

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

__int128 floor_of(__int128 a, __int128 b) {
  const __int128 q = a / b;
  return q - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

int64_t remainder_of(__int128 a, int64_t m) { return static_cast<int64_t>(a - floor_of(a, m) * m); }

// The x from 0 to below m / gcd with a * x == r (mod m); nothing where there is none.
std::optional<std::pair<int64_t, int64_t>> solve_congruence(int64_t a, int64_t r, int64_t m) {
  a = remainder_of(a, m);
  r = remainder_of(r, m);
  const int64_t common = std::gcd(a, m);
  if (common == 0) return r == 0 ? std::optional(std::make_pair(int64_t{0}, int64_t{1})) : std::nullopt;
  if (r % common != 0) return {};
  const int64_t period = m / common;
  // Euclid's algorithm, extended: x with a / common * x == 1 (mod period).
  __int128 old = remainder_of(a / common, period);
  __int128 rest = period;
  __int128 x = 1;
  __int128 next = 0;
  while (rest != 0) {
    const __int128 q = old / rest;
    old = std::exchange(rest, old - q * rest);
    x = std::exchange(next, x - q * next);
  }
  return std::make_pair(remainder_of(x * (r / common), period), period);
}

// Adds `times` of `other`; false where numbers grow too large.
bool add_to(Linear& sum, const Linear& other, int64_t times) {
  const auto add = [&](int64_t& to, int64_t number) {
    const __int128 result = to + static_cast<__int128>(number) * times;
    if (result > kMostFactor || result < -kMostFactor) return false;
    to = static_cast<int64_t>(result);
    return true;
  };
  if (!add(sum.number, other.number)) return false;
  for (const auto& [symbol, factor] : other.factors) {
    int64_t& own = sum.factors[symbol];
    if (!add(own, factor)) return false;
    if (own == 0) sum.factors.erase(symbol);
  }
  return true;
}

/// A sum that is to be 0 or more, and what says so.
using Bound = std::pair<std::string, Linear>;

// Divided by what all factors have in common.
void reduce(Linear& sum) {
  int64_t common = 0;
  for (const auto& [symbol, factor] : sum.factors) common = std::gcd(common, factor);
  if (common < 2) return;
  for (auto& [symbol, factor] : sum.factors) factor /= common;
  sum.number = static_cast<int64_t>(floor_of(sum.number, common));
}

// The place of a bound that cannot hold beside the others. One symbol after another is taken out (Fourier, Motzkin):
// each sum that has it with a plus is added to each that has it with a minus. Nothing where that needs many sums.
std::optional<std::string> contradiction(std::vector<Bound> bounds) {
  constexpr size_t kMostSums = 500;
  const auto factor_of = [](const Bound& bound, SymbolId symbol) {
    const auto found = bound.second.factors.find(symbol);
    return found == bound.second.factors.end() ? int64_t{0} : found->second;
  };
  while (!bounds.empty() && bounds.size() <= kMostSums) {
    std::optional<SymbolId> symbol;
    for (const Bound& bound : bounds) {
      if (bound.second.factors.empty() && bound.second.number < 0) return bound.first;
      if (!bound.second.factors.empty()) symbol = bound.second.factors.begin()->first;
    }
    if (!symbol) return {};
    std::vector<Bound> rest;
    for (const Bound& bound : bounds) {
      const int64_t factor = factor_of(bound, *symbol);
      if (factor == 0) rest.push_back(bound);
      for (const Bound& other : bounds) {
        const int64_t minus = factor_of(other, *symbol);
        if (factor <= 0 || minus >= 0) continue;
        const int64_t common = std::gcd(factor, minus);
        Bound both = {std::max(&bound, &other)->first, {}};
        const bool fits =
            add_to(both.second, bound.second, -minus / common) && add_to(both.second, other.second, factor / common);
        reduce(both.second);
        if (fits) rest.push_back(std::move(both));
      }
    }
    bounds = std::move(rest);
  }
  return {};
}

}  // namespace

void NamedSizes::declare(const std::string& name) {
  if (has(name)) return;
  order_.push_back(name);
  ranges_.emplace(name, Range());
}

bool NamedSizes::has(const std::string& name) const { return ranges_.count(known_as(name)) != 0; }

const std::string& NamedSizes::known_as(const std::string& name) const {
  const std::string* known = &name;
  for (auto alias = aliases_.find(*known); alias != aliases_.end(); alias = aliases_.find(*known)) {
    known = &alias->second;
  }
  return *known;
}

void NamedSizes::rename(const std::string& declared, const std::string& name) {
  const std::string old = known_as(declared);
  const std::string now = known_as(name);
  if (old == now) return;
  const bool known = ranges_.count(now) != 0;
  const Range range = ranges_[old];
  if (known) {
    bound(now, {range.least, range.most});
    order_.erase(std::find(order_.begin(), order_.end(), old));
  } else {
    ranges_.emplace(now, range);
    *std::find(order_.begin(), order_.end(), old) = now;
  }
  ranges_.erase(old);
  aliases_[old] = now;
}

bool NamedSizes::bound(const std::string& name, Extent extent) {
  Range& range = ranges_[known_as(name)];
  range.least = range.said ? std::max(range.least, extent.lower) : extent.lower;
  range.said = true;
  range.most = std::min(range.most, extent.upper);
  return range.least <= range.most;
}

std::string NamedSizes::names() const {
  std::string all;
  for (const std::string& name : order_) all += (all.empty() ? "" : ", ") + name;
  return all.empty() ? "the model has no open sizes" : "the model has " + all;
}

Failure NamedSizes::impossible(const std::string& place) {
  return Failure{Error::kInvalidArgument, place, "no sizes fulfil this, beside all else that is said of them"};
}

Status NamedSizes::where_range(const std::string& text, size_t equals) {
  const std::string name = symbol_name(trimmed(text.substr(0, equals)));
  std::vector<Extent> extents;
  const bool read = parse_extents(trimmed(text.substr(equals + 1)), &extents) && extents.size() == 1;
  if (!read || !extents[0].name.empty()) {
    return Failure{Error::kInvalidArgument, "--where " + text,
                   "expected NAME=1..512 or NAME=8; between sizes it is ==, as in W==2*H"};
  }
  if (!has(name)) {
    return Failure{Error::kInvalidArgument, "--where " + text, "there is no size called " + name + "; " + names()};
  }
  return bound(name, extents[0]) ? Status(Done{}) : Status(impossible("--where " + text));
}

Expected<SizeRelation> NamedSizes::parse(const std::string& text, ir::Symbols& symbols, bool plain) const {
  return parse_size_relation(text, symbols, [&](const std::string& word) -> std::optional<Dim> {
    if (!has(word)) return {};
    return plain ? this->plain(word) : dims_.at(known_as(word));
  });
}

Dim NamedSizes::plain(const std::string& name) const { return plain_.input(known_as(name), 0, kMaxExtent).value(); }

Status NamedSizes::where(const std::string& text) {
  const size_t equals = text.find('=');
  const bool alone =
      equals != std::string::npos && equals > 0 && text.find_first_of("=<>", equals + 1) == std::string::npos;
  if (alone && std::string_view("<>!=").find(text[equals - 1]) == std::string_view::npos)
    return where_range(text, equals);
  auto relation = parse(text, plain_, true);
  const std::string place = "--where " + text;
  if (!relation.ok()) {
    const std::string& message = relation.error().message;
    return Failure{Error::kInvalidArgument, place,
                   message + (message.find("no size") == std::string::npos ? "; write H=32..512, H%32==0 or T+P<=512"
                                                                           : "; " + names())};
  }
  if (relation->kind == Kind::kNamed) {
    return Failure{Error::kInvalidArgument, place, "is not a relation; write H=32..512, H%32==0 or T+P<=512"};
  }
  wishes_.push_back({place, text, *relation, false});
  return Done{};
}

bool NamedSizes::where_model_says(const std::string& name, const std::string& text) {
  auto expression = parse(text, plain_, true);
  if (!expression.ok() || expression->kind != Kind::kNamed || expression->a.is_constant()) return false;
  const Dim own = plain(name);
  const std::optional<Linear> sum = plain_.linear(plain_.sub(expression->a, own));
  if (!sum || sum->factors.count(own.symbol) == 0 || sum->factors.size() < 2) return false;
  const auto is_size = [&](const auto& term) { return plain_[term.first].kind == ir::SymbolKind::kInput; };
  if (!std::all_of(sum->factors.begin(), sum->factors.end(), is_size)) return false;
  const std::string relation = name + "==" + text;
  wishes_.push_back({"the model's size \"" + text + "\"", relation, {Kind::kEqual, "", own, expression->a}, false});
  return true;
}

Linear NamedSizes::substituted(Linear sum) const {
  for (const Solved& solved : solved_) {
    const auto found = std::find_if(names_.begin(), names_.end(), [&](auto& n) { return n.second == solved.name; });
    const auto term = found == names_.end() ? sum.factors.end() : sum.factors.find(found->first);
    if (term == sum.factors.end()) continue;
    const int64_t times = term->second;
    Linear without = sum;
    without.factors.erase(found->first);
    if (add_to(without, solved.is, times)) sum = without;
  }
  return sum;
}

// An equation of sums is solved for a size that is one side of it, or else for the last that was declared, among those
// that it has once.
Status NamedSizes::eliminate(Wish& wish) {
  if (wish.relation.kind != Kind::kEqual) return Done{};
  const std::optional<Linear> difference = plain_.linear(plain_.sub(wish.relation.a, wish.relation.b));
  if (!difference) return Done{};
  const Linear sum = substituted(*difference);
  std::optional<SymbolId> best;
  for (const auto& [symbol, factor] : sum.factors) {
    const auto name = names_.find(symbol);
    if (name == names_.end()) return Done{};  // not a sum of sizes
    const auto rank = [&](SymbolId s) {
      const bool left = wish.relation.a == Dim::of_symbol(s);
      const bool right = wish.relation.b == Dim::of_symbol(s);
      const auto place = std::find(order_.begin(), order_.end(), names_.at(s)) - order_.begin();
      return std::make_tuple(left, right, place);
    };
    if ((factor == 1 || factor == -1) && (!best || rank(*best) < rank(symbol))) best = symbol;
  }
  if (sum.factors.empty()) {
    wish.absorbed = true;
    return sum.number == 0 ? Status(Done{}) : Status(impossible(wish.place));
  }
  if (!best) return Done{};
  // What could not be put in its place, where numbers grow too large, is only checked.
  const auto is_best = [&](const Solved& s) { return s.name == names_.at(*best); };
  if (std::any_of(solved_.begin(), solved_.end(), is_best)) return Done{};
  Solved solved;
  solved.name = names_.at(*best);
  solved.place = wish.place;
  Linear rest = sum;
  rest.factors.erase(*best);
  if (!add_to(solved.is, rest, sum.factors.at(*best) == 1 ? -1 : 1)) return Done{};
  std::vector<Solved> all = solved_;
  for (Solved& earlier : all) {
    const auto term = earlier.is.factors.find(*best);
    if (term == earlier.is.factors.end()) continue;
    const int64_t times = term->second;
    earlier.is.factors.erase(term);
    if (!add_to(earlier.is, solved.is, times)) return Done{};
  }
  all.push_back(std::move(solved));
  solved_ = std::move(all);
  wish.absorbed = true;
  return Done{};
}

// (a * x + c) % m == r of one size x: x has a step.
Status NamedSizes::take_remainder(Wish& wish) {
  if (wish.relation.kind != Kind::kEqual || wish.absorbed) return Done{};
  const std::optional<Linear> difference = plain_.linear(plain_.sub(wish.relation.a, wish.relation.b));
  if (!difference || difference->factors.size() != 1) return Done{};
  const auto [symbol, factor] = *difference->factors.begin();
  const ir::Symbol remainder = plain_[symbol];
  if (remainder.kind != ir::SymbolKind::kMod || !remainder.b.is_constant() || (factor != 1 && factor != -1))
    return Done{};
  const int64_t wanted = factor == 1 ? -difference->number : difference->number;
  const int64_t modulus = remainder.b.value;
  if (wanted < 0 || wanted >= modulus) return impossible(wish.place);
  const std::optional<Linear> inside = plain_.linear(remainder.a);
  if (!inside) return Done{};
  const Linear sum = substituted(*inside);
  if (sum.factors.empty()) {
    wish.absorbed = true;
    return remainder_of(sum.number, modulus) == wanted ? Status(Done{}) : Status(impossible(wish.place));
  }
  const auto name = names_.find(sum.factors.begin()->first);
  if (sum.factors.size() != 1 || name == names_.end()) return Done{};
  const auto found = solve_congruence(sum.factors.begin()->second, wanted - remainder_of(sum.number, modulus), modulus);
  if (!found) return impossible(wish.place);
  // Both steps at once: offset + step * k == found (mod its period).
  Range& range = ranges_[name->second];
  const auto both = solve_congruence(range.step, found->first - range.offset, found->second);
  if (!both) return impossible(wish.place);
  const __int128 step = static_cast<__int128>(range.step) / std::gcd(range.step, found->second) * found->second;
  if (step > kMaxExtent) return impossible(wish.place);
  range.offset =
      remainder_of(range.offset + static_cast<__int128>(range.step) * both->first, static_cast<int64_t>(step));
  range.step = static_cast<int64_t>(step);
  wish.absorbed = true;
  return Done{};
}

// Ranges of sizes such that the sum can be 0 or more; false where it cannot.
bool NamedSizes::narrow(const Linear& not_negative, bool* changed) {
  __int128 most = not_negative.number;
  for (const auto& [symbol, factor] : not_negative.factors) {
    const Range& range = ranges_[names_.at(symbol)];
    most += static_cast<__int128>(factor) * (factor > 0 ? range.most : range.least);
  }
  if (most < 0) return false;
  for (const auto& [symbol, factor] : not_negative.factors) {
    Range& range = ranges_[names_.at(symbol)];
    const __int128 others = most - static_cast<__int128>(factor) * (factor > 0 ? range.most : range.least);
    if (factor > 0) {
      const __int128 least = -floor_of(others, factor);
      if (least > range.least) {
        range.least = static_cast<int64_t>(std::min<__int128>(least, kMaxExtent));
        *changed = true;
      }
    } else {
      const __int128 upper = floor_of(others, -static_cast<__int128>(factor));
      if (upper < range.most) {
        range.most = static_cast<int64_t>(std::max<__int128>(upper, -1));
        *changed = true;
      }
    }
    if (range.least > range.most) return false;
  }
  return true;
}

Status NamedSizes::narrow_all() {
  std::vector<Bound> bounds;
  const auto add = [&](const std::string& place, const Linear& sum, int64_t sign) {
    Linear one;
    const auto is_size = [&](const auto& term) { return names_.count(term.first) != 0; };
    if (std::all_of(sum.factors.begin(), sum.factors.end(), is_size) && add_to(one, sum, sign)) {
      bounds.emplace_back(place, one);
    }
  };
  for (const Wish& wish : wishes_) {
    const std::optional<Linear> sum = plain_.linear(plain_.sub(wish.relation.b, wish.relation.a));
    if (!sum || wish.absorbed) continue;
    add(wish.place, substituted(*sum), 1);
    if (wish.relation.kind == Kind::kEqual) add(wish.place, substituted(*sum), -1);
  }
  for (const Solved& solved : solved_) {
    const Range& range = ranges_[solved.name];
    Linear low;
    low.number = -range.least;
    Linear high;
    high.number = range.most;
    if (add_to(low, solved.is, 1)) add(solved.place, low, 1);
    if (range.most < kMaxExtent && add_to(high, solved.is, -1)) add(solved.place, high, 1);
  }
  bool changed = true;
  for (int round = 0; round < kMostRounds && changed; ++round) {
    changed = false;
    for (auto& [name, range] : ranges_) {
      // To whole steps.
      range.least += remainder_of(static_cast<__int128>(range.offset) - range.least, range.step);
      if (range.most < kMaxExtent)
        range.most -= remainder_of(static_cast<__int128>(range.most) - range.offset, range.step);
      if (range.least > range.most) return impossible("size " + name);
    }
    for (const auto& [place, sum] : bounds) {
      if (!narrow(sum, &changed)) return impossible(place);
    }
  }
  // Ranges that become smaller by little each time, as those of a > b beside b > a.
  if (!changed) return Done{};
  for (const auto& [symbol, name] : names_) {
    const Range& range = ranges_[name];
    bounds.push_back({"size " + name, {-range.least, {{symbol, 1}}}});
    if (range.most < kMaxExtent) bounds.push_back({"size " + name, {range.most, {{symbol, -1}}}});
  }
  const std::optional<std::string> place = contradiction(std::move(bounds));
  return place ? Status(impossible(*place)) : Status(Done{});
}

Status NamedSizes::make_symbols() {
  const auto is_solved = [&](const std::string& name) {
    return std::any_of(solved_.begin(), solved_.end(), [&](const Solved& s) { return s.name == name; });
  };
  for (const std::string& name : order_) {
    if (is_solved(name)) continue;
    Range range = ranges_[name];
    if (range.most == kMaxExtent) {
      unbounded_.push_back(name);
      continue;
    }
    range.most -= remainder_of(static_cast<__int128>(range.most) - range.offset, range.step);
    if (range.least > range.most) return impossible("size " + name);
    if (range.least == range.most) {
      dims_[name] = Dim(range.least);
      continue;
    }
    BERTH_ASSIGN_OR_RETURN(dims_[name], symbols_.input(name, range.least, range.most, range.step));
  }
  if (!unbounded_.empty()) return Done{};
  for (const Solved& solved : solved_) {
    Dim size(solved.is.number);
    for (const auto& [symbol, factor] : solved.is.factors) {
      size = symbols_.add(size, symbols_.mul(dims_.at(names_.at(symbol)), Dim(factor)));
    }
    dims_[solved.name] = size;
    if (!size.is_constant()) symbols_.assume({Kind::kNamed, solved.name, size, Dim()});
    const Range& range = ranges_[solved.name];
    if (!symbols_.is_at_most(Dim(range.least), size)) symbols_.assume({Kind::kAtMost, "", Dim(range.least), size});
    if (!symbols_.is_at_most(size, Dim(range.most))) symbols_.assume({Kind::kAtMost, "", size, Dim(range.most)});
  }
  return Done{};
}

// What is left of a relation, in the module's symbols.
Status NamedSizes::assume(const Wish& wish) {
  if (wish.absorbed) return Done{};
  BERTH_ASSIGN_OR_RETURN(const SizeRelation relation, parse(wish.text, symbols_, false));
  const bool at_most = relation.kind == Kind::kAtMost;
  const bool holds = at_most ? symbols_.is_at_most(relation.a, relation.b) : relation.a == relation.b;
  if (holds) return Done{};
  if (symbols_.lower(relation.a) > symbols_.upper(relation.b)) return impossible(wish.place);
  if (!at_most && symbols_.lower(relation.b) > symbols_.upper(relation.a)) return impossible(wish.place);
  symbols_.assume(relation);
  return Done{};
}

Status NamedSizes::solve() {
  for (const std::string& name : order_) names_[plain(name).symbol] = name;
  for (Wish& wish : wishes_) BERTH_TRY(eliminate(wish));
  for (Wish& wish : wishes_) BERTH_TRY(take_remainder(wish));
  BERTH_TRY(narrow_all());
  BERTH_TRY(make_symbols());
  if (!unbounded_.empty()) return Done{};
  for (const Wish& wish : wishes_) BERTH_TRY(assume(wish));
  return Done{};
}

}  // namespace berth::lowering
