#include "compiler/ir/same_product.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "base/math.h"

namespace berth::ir {
namespace {

// Coefficients by symbol; the number that is added has the symbol -1. Without a common divisor.
using Sum = std::map<SymbolId, int64_t>;

// A number times sums.
struct Product {
  int64_t number = 1;
  std::vector<Sum> sums;

  bool operator==(const Product& other) const { return number == other.number && sums == other.sums; }
};

class Factors {
 public:
  explicit Factors(const Symbols& symbols) : symbols_(symbols) {}

  // False when a number does not fit.
  bool of(const DimList& dims, Product* product) const {
    for (const Dim dim : dims) {
      if (!multiply(dim, product)) return false;
    }
    std::sort(product->sums.begin(), product->sums.end());
    if (product->number == 0) product->sums.clear();
    return true;
  }

 private:
  bool multiply(Dim dim, Product* product) const {
    if (dim.is_constant()) return checked_mul(product->number, dim.value, &product->number);
    const Symbol& symbol = symbols_[dim.symbol];
    if (symbol.kind == SymbolKind::kMul) return multiply(symbol.a, product) && multiply(symbol.b, product);
    Sum sum;
    if (!add(dim, 1, &sum)) return false;
    const int64_t divisor = divisor_of(sum);
    if (divisor != 0) product->sums.push_back(std::move(sum));
    return checked_mul(product->number, divisor, &product->number);
  }

  // Divides `sum` by what its terms have in common, so that its first coefficient is positive; 0 when they are all 0.
  static int64_t divisor_of(Sum& sum) {
    int64_t divisor = 0;
    for (auto term = sum.begin(); term != sum.end();) {
      divisor = std::gcd(divisor, term->second);
      term = term->second == 0 ? sum.erase(term) : std::next(term);
    }
    if (!sum.empty() && sum.begin()->second < 0) divisor = -divisor;
    for (auto& term : sum) term.second /= divisor;
    return divisor;
  }

  // Adds `times` times `dim`.
  bool add(Dim dim, int64_t times, Sum* sum) const {
    if (!dim.is_constant()) {
      const Symbol& symbol = symbols_[dim.symbol];
      if (symbol.kind == SymbolKind::kAdd) return add(symbol.a, times, sum) && add(symbol.b, times, sum);
      if (symbol.kind == SymbolKind::kMul && symbol.b.is_constant()) {
        return checked_mul(times, symbol.b.value, &times) && add(symbol.a, times, sum);
      }
      if (symbol.unit.valid()) {
        if (!add(Dim(symbol.offset()), times, sum)) return false;
        return checked_mul(times, symbol.step, &times) && add(Dim::of_symbol(symbol.unit), times, sum);
      }
    }
    int64_t& coefficient = (*sum)[dim.symbol];
    if (dim.is_constant() && !checked_mul(times, dim.value, &times)) return false;
    return checked_add(coefficient, times, &coefficient) && coefficient != std::numeric_limits<int64_t>::min();
  }

  const Symbols& symbols_;
};

}  // namespace

bool same_product(const Symbols& symbols, const DimList& a, const DimList& b) {
  const Factors factors(symbols);
  Product left;
  Product right;
  return factors.of(a, &left) && factors.of(b, &right) && left == right;
}

}  // namespace berth::ir
