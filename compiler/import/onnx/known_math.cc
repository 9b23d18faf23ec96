#include "compiler/import/onnx/known_math.h"

#include <algorithm>

namespace berth::onnx {
namespace {

using ir::Dim;

bool compares(BinaryRule rule) { return rule >= BinaryRule::kEqual; }

template <typename T>
bool compare(BinaryRule rule, T a, T b) {
  switch (rule) {
    case BinaryRule::kEqual: return a == b;
    case BinaryRule::kLess: return a < b;
    case BinaryRule::kLessOrEqual: return a <= b;
    case BinaryRule::kGreater: return a > b;
    case BinaryRule::kGreaterOrEqual: return a >= b;
    case BinaryRule::kAnd: return a != 0 && b != 0;
    default: return a != 0 || b != 0;
  }
}

std::optional<Number> of_reals(DType dtype, BinaryRule rule, double a, double b) {
  switch (rule) {
    case BinaryRule::kAdd: return rounded(dtype, {{}, a + b});
    case BinaryRule::kSub: return rounded(dtype, {{}, a - b});
    case BinaryRule::kMul: return rounded(dtype, {{}, a * b});
    case BinaryRule::kDiv: return rounded(dtype, {{}, a / b});
    case BinaryRule::kMod: return std::nullopt;
    case BinaryRule::kMin: return Number{{}, a != a ? a : std::min(b, a)};  // NaN wins
    case BinaryRule::kMax: return Number{{}, a != a ? a : std::max(b, a)};
    default: return Number{Dim(compare(rule, a, b)), 0};
  }
}

std::optional<Number> of_integers(DType dtype, BinaryRule rule, int64_t a, int64_t b) {
  const uint64_t x = static_cast<uint64_t>(a);
  const uint64_t y = static_cast<uint64_t>(b);
  const auto wrapped = [&](uint64_t z) { return rounded(dtype, {Dim(static_cast<int64_t>(z)), 0}); };
  switch (rule) {
    case BinaryRule::kAdd: return wrapped(x + y);
    case BinaryRule::kSub: return wrapped(x - y);
    case BinaryRule::kMul: return wrapped(x * y);
    case BinaryRule::kDiv:
      if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
      return wrapped(static_cast<uint64_t>(a / b));
    case BinaryRule::kMod:
      if (b == 0 || b == -1) return b == 0 ? std::nullopt : std::optional<Number>(Number());
      return Number{Dim(a % b != 0 && (a < 0) != (b < 0) ? a % b + b : a % b), 0};
    case BinaryRule::kMin: return Number{Dim(std::min(a, b)), 0};
    case BinaryRule::kMax: return Number{Dim(std::max(a, b)), 0};
    default: return Number{Dim(compare(rule, a, b)), 0};
  }
}

std::optional<Number> decided(bool yes, bool no) {
  if (yes) return Number{Dim(1), 0};
  if (no) return Number{Dim(0), 0};
  return std::nullopt;
}

std::optional<Number> of_symbols(ir::Symbols& symbols, BinaryRule rule, Dim a, Dim b) {
  const int64_t a_low = symbols.lower(a);
  const int64_t a_high = symbols.upper(a);
  const int64_t b_low = symbols.lower(b);
  const int64_t b_high = symbols.upper(b);
  switch (rule) {
    case BinaryRule::kAdd: return Number{symbols.add(a, b), 0};
    case BinaryRule::kSub: return Number{symbols.sub(a, b), 0};
    case BinaryRule::kMul: return Number{symbols.mul(a, b), 0};
    case BinaryRule::kDiv:
      if (a_low < 0 || b_low <= 0) return std::nullopt;  // where floor and truncation would differ
      return Number{symbols.floor_div(a, b), 0};
    case BinaryRule::kMod:
      if (b_low <= 0) return std::nullopt;
      return Number{symbols.mod(a, b), 0};
    case BinaryRule::kMin: return Number{symbols.min(a, b), 0};
    case BinaryRule::kMax: return Number{symbols.max(a, b), 0};
    case BinaryRule::kEqual: return decided(a == b, a_high < b_low || b_high < a_low);
    case BinaryRule::kLess: return decided(a_high < b_low, a == b || a_low >= b_high);
    case BinaryRule::kLessOrEqual: return decided(a == b || a_high <= b_low, a_low > b_high);
    case BinaryRule::kGreater: return of_symbols(symbols, BinaryRule::kLess, b, a);
    case BinaryRule::kGreaterOrEqual: return of_symbols(symbols, BinaryRule::kLessOrEqual, b, a);
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<Number> apply(ir::Symbols& symbols, DType dtype, BinaryRule rule, Number a, Number b) {
  if (is_floating(dtype)) return of_reals(dtype, rule, a.real, b.real);
  if (a.whole.is_constant() && b.whole.is_constant()) return of_integers(dtype, rule, a.whole.value, b.whole.value);
  return of_symbols(symbols, rule, a.whole, b.whole);
}

std::optional<Known> broadcast(ir::Symbols& symbols, const Known& a, const Known& b, BinaryRule rule) {
  const size_t rank = std::max(a.shape.size(), b.shape.size());
  const auto extent = [&](const Known& k, size_t axis) {
    const size_t missing = rank - k.shape.size();
    return axis < missing ? int64_t{1} : k.shape[axis - missing];
  };
  Known out;
  out.dtype = a.dtype;
  int64_t count = 1;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t x = extent(a, i);
    const int64_t y = extent(b, i);
    if (x != y && x != 1 && y != 1) return std::nullopt;
    out.shape.push_back(x == 1 ? y : x);
    count *= out.shape.back();
    if (!may_be_known(a.dtype, count)) return std::nullopt;
  }
  for (int64_t flat = 0; flat < count; ++flat) {
    size_t at[2] = {0, 0};
    const Known* in[2] = {&a, &b};
    for (int side = 0; side < 2; ++side) {
      int64_t rest = flat;
      int64_t stride = 1;
      int64_t place = 0;
      for (size_t axis = rank; axis-- > 0;) {
        const int64_t index = rest % out.shape[axis];
        rest /= out.shape[axis];
        const int64_t size = extent(*in[side], axis);
        if (size != 1) place += index * stride;
        stride *= size;
      }
      at[side] = place;
    }
    const auto element = apply(symbols, a.dtype, rule, a.elements[at[0]], b.elements[at[1]]);
    if (!element.has_value()) return std::nullopt;
    out.elements.push_back(*element);
  }
  if (compares(rule)) out.dtype = DType::kBool;
  return out;
}

}  // namespace berth::onnx
