// Dim: one dimension of a shape, a number or a symbol with a range.
//
// Symbols are interned in the Module's Symbols table: equal expressions are the same symbol, so that two Dims are
// `==` if they are known to be equal. Text: `8`, `n`, `(n + 1)`, `(n * 4)`, `floordiv(n, 2)`, `mod(n, 2)`, `max(n, 4)`.
//
// A symbol may have a step, H = 32 k: then arithmetic computes with k, its unit, so that H / 4 * 4 is H, and
// (H + 1) / 2 is H / 2. The unit is the computed symbol floordiv(H, 32). Relations between symbols narrow the ranges of
// what is computed after they were assumed: with T + P <= 512 the sum has 512 as its upper end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
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
  Dim a, b;          // operands of computed symbols
  int terms = 1;     // inputs and numbers in its text; saturates
  int64_t step = 1;  // of inputs: the size is `min` plus a multiple of it
  SymbolId unit;     // of inputs with a step above 1: size / step, rounded down
  SymbolId whole;    // of a unit: its input

  /// What is left when the size is divided by the step.
  int64_t offset() const { return min % step; }
};

/// A size as a number and a sum of symbols times numbers, by ascending id. None of the symbols is a sum, a multiple by
/// a number or an input with a step.
struct Linear {
  int64_t number = 0;
  std::map<SymbolId, int64_t> factors;
};

/// What holds between sizes, whatever they are.
struct SizeRelation {
  enum class Kind : uint8_t {
    kEqual,   // a == b
    kAtMost,  // a <= b
    kNamed,   // the size called `name` is `a`
  };
  Kind kind = Kind::kEqual;
  std::string name;
  Dim a, b;
};

/// The symbols of a module. Arithmetic folds constants, drops neutral elements and orders operands, so that n + 1 and
/// 1 + n are one symbol. Ranges saturate at ±2^62.
class Symbols {
 public:
  /// The input symbol `name`, made at first mention: `min`, or a multiple of `step` above it. InvalidArgument when it
  /// exists with another range, and when `max` is not such a size.
  Expected<Dim> input(std::string_view name, int64_t min, int64_t max, int64_t step = 1);
  /// The input symbol `name`, or null.
  const Symbol* find(std::string_view name, SymbolId* id = nullptr) const;

  Dim add(Dim a, Dim b);
  Dim sub(Dim a, Dim b) { return add(a, mul(b, Dim(-1))); }
  Dim mul(Dim a, Dim b);
  /// `dim` as a sum; nothing where it has more than 16 terms, or where a number does not fit.
  std::optional<Linear> linear(Dim dim) const;

  /// From now on arithmetic relies on `relation`. Its kEqual and kAtMost are used where both sides are sums; all are
  /// kept, so that a run may check them.
  void assume(SizeRelation relation);
  /// Whether an input symbol or a named size is called so.
  bool has_name(std::string_view name) const;
  const std::vector<SizeRelation>& relations() const { return relations_; }
  /// The texts of the relations that mention the input `id`.
  std::set<std::string> relations_about(SymbolId id) const;
  /// Whether a <= b follows from ranges and relations.
  bool is_at_most(Dim a, Dim b) const;

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
  /// Of a relation: "(T + P) <= 512", "W == (H * 2)".
  std::string text(const SizeRelation& relation) const;

 private:
  Dim sum_of(const Linear& linear);
  std::optional<int64_t> least_sum(Dim a, int sign_of_a, Dim b, int sign_of_b) const;
  Dim quotient(Dim dividend, Linear linear, int64_t divisor);
  Dim product(Dim a, Dim b);
  // Divides both by the symbols that are factors of `b` and of every term of `a`; false where there are none.
  // REQUIRES: b's range holds no zero.
  bool cancel(Dim* a, Dim* b);
  Dim rounded_quotient(Dim a, Dim b);
  Dim computed(SymbolKind kind, Dim a, Dim b, int64_t min, int64_t max);
  int compare(Dim a, Dim b) const;
  bool ordered(Dim a, Dim b) const { return compare(a, b) <= 0; }

  using Key = std::tuple<SymbolKind, int64_t, SymbolId, int64_t, SymbolId>;
  IdVector<SymbolId, Symbol> symbols_;
  std::map<std::string, SymbolId, std::less<>> inputs_;  // by name
  std::map<Key, SymbolId> computed_;                     // by kind and operands
  std::vector<SizeRelation> relations_;
  int64_t narrowed_ = 0;  // sums, by assume()
};

}  // namespace berth::ir
