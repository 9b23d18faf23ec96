// Quotients of products: what both share is cancelled, so that a batch that was joined with a length and is split off
// again leaves the length.
#include <algorithm>
#include <vector>

#include "base/math.h"
#include "compiler/ir/sums.h"

namespace berth::ir {
namespace {

// A number times symbols, none of which is a product.
struct SizeProduct {
  int64_t number = 1;
  std::vector<SymbolId> symbols;
};

// False where a number does not fit.
bool multiply(const Symbols& symbols, Dim dim, SizeProduct* product) {
  if (dim.is_constant()) return checked_mul(product->number, dim.value, &product->number);
  const Symbol& s = symbols[dim.symbol];
  if (s.kind == SymbolKind::kMul) return multiply(symbols, s.a, product) && multiply(symbols, s.b, product);
  product->symbols.push_back(dim.symbol);
  return true;
}

// Takes `symbol` once out of each of `terms`, if all have it.
bool take_out(std::vector<SizeProduct>* terms, SymbolId symbol) {
  const auto place = [&](SizeProduct& term) { return std::find(term.symbols.begin(), term.symbols.end(), symbol); };
  for (SizeProduct& term : *terms) {
    if (place(term) == term.symbols.end()) return false;
  }
  for (SizeProduct& term : *terms) term.symbols.erase(place(term));
  return true;
}

Dim value_of(Symbols& symbols, const SizeProduct& product) {
  Dim value = Dim(product.number);
  for (const SymbolId symbol : product.symbols) value = symbols.mul(value, Dim::of_symbol(symbol));
  return value;
}

}  // namespace

bool Symbols::cancel(Dim* a, Dim* b) {
  if (terms(*b) > kMostMentioned) return false;
  const std::optional<Linear> sum = linear(*a);
  SizeProduct divisor;
  if (!sum || sum->factors.empty() || sum->number != 0 || !multiply(*this, *b, &divisor)) return false;
  std::vector<SizeProduct> terms;
  for (const auto& [symbol, factor] : sum->factors) {
    terms.push_back({factor, {}});
    if (!multiply(*this, Dim::of_symbol(symbol), &terms.back())) return false;
  }
  const size_t before = divisor.symbols.size();
  const auto is_shared = [&](SymbolId symbol) { return take_out(&terms, symbol); };
  divisor.symbols.erase(std::remove_if(divisor.symbols.begin(), divisor.symbols.end(), is_shared),
                        divisor.symbols.end());
  if (divisor.symbols.size() == before) return false;
  const Dim left = value_of(*this, divisor);
  if (lower(left) <= 0 && upper(left) >= 0) return false;
  Dim quotient(0);
  for (const SizeProduct& term : terms) quotient = add(quotient, value_of(*this, term));
  *a = quotient;
  *b = left;
  return true;
}

}  // namespace berth::ir
