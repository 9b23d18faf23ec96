// Dim: one dimension of a shape, a number or a symbol with a range.
//
// Symbols are interned in the Module's Symbols table: equal expressions are the same symbol, so that two Dims are
// `==` if they are known to be equal. Text: `8`, `n`, `(n + 1)`, `(n * 4)`, `floordiv(n, 2)`, `mod(n, 2)`, `max(n, 4)`.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/failure.h"
#include "base/id.h"

namespace berth::ir {

struct Symbol;
using SymbolId = Id<Symbol>;  // in Symbols

struct Dim {
  int64_t value = 0;  // when there is no symbol
  SymbolId symbol;

  Dim() = default;
  Dim(int64_t constant) : value(constant) {}
  static Dim of_symbol(SymbolId id) {
    Dim dim;
    dim.symbol = id;
    return dim;
  }
  bool is_constant() const { return !symbol.valid(); }
  friend bool operator==(Dim a, Dim b) { return a.symbol == b.symbol && (a.symbol.valid() || a.value == b.value); }
  friend bool operator!=(Dim a, Dim b) { return !(a == b); }
};

/// How a symbol is made. kInput symbols are free: sizes of method inputs; the others are computed from `a` and `b`.
enum class SymbolKind : uint8_t { kInput, kAdd, kMul, kFloorDiv, kMod, kMax, kMin };

struct Symbol {
  SymbolKind kind = SymbolKind::kInput;
  std::string name;  // of inputs only
  int64_t min = 0;   // inclusive range, for every kind
  int64_t max = 0;
  Dim a, b;       // operands of computed symbols
  int terms = 1;  // inputs and numbers in its text; saturates
};

/// The symbols of a module. Arithmetic folds constants, drops neutral elements and orders operands, so that n + 1 and
/// 1 + n are one symbol. Ranges saturate at ±2^62.
class Symbols {
 public:
  /// The input symbol `name`, made at first mention. InvalidArgument when it exists with another range.
  Expected<Dim> input(std::string_view name, int64_t min, int64_t max);
  /// The input symbol `name`, or null.
  const Symbol* find(std::string_view name, SymbolId* id = nullptr) const;

  Dim add(Dim a, Dim b);
  Dim sub(Dim a, Dim b) { return add(a, mul(b, Dim(-1))); }
  Dim mul(Dim a, Dim b);
  /// Rounds towards minus infinity. REQUIRES: b's range holds no zero.
  Dim floor_div(Dim a, Dim b);
  /// Rounds up. REQUIRES: as floor_div.
  Dim ceil_div(Dim a, Dim b);
  Dim mod(Dim a, Dim b);
  Dim max(Dim a, Dim b);
  Dim min(Dim a, Dim b);

  int64_t lower(Dim dim) const { return dim.is_constant() ? dim.value : symbols_[dim.symbol].min; }
  int64_t upper(Dim dim) const { return dim.is_constant() ? dim.value : symbols_[dim.symbol].max; }

  /// How many inputs and numbers the text of `dim` mentions; saturates at 2^20.
  int terms(Dim dim) const { return dim.is_constant() ? 1 : symbols_[dim.symbol].terms; }

  const Symbol& operator[](SymbolId id) const { return symbols_[id]; }
  size_t size() const { return symbols_.size(); }
  IdRange<SymbolId> ids() const { return symbols_.ids(); }

  /// The text form of `dim` (see the head of this file).
  std::string text(Dim dim) const;

 private:
  Dim computed(SymbolKind kind, Dim a, Dim b, int64_t min, int64_t max);
  int compare(Dim a, Dim b) const;
  bool ordered(Dim a, Dim b) const { return compare(a, b) <= 0; }

  using Key = std::tuple<SymbolKind, int64_t, SymbolId, int64_t, SymbolId>;
  IdVector<SymbolId, Symbol> symbols_;
  std::map<std::string, SymbolId, std::less<>> inputs_;  // by name
  std::map<Key, SymbolId> computed_;                     // by kind and operands
};

}  // namespace berth::ir
