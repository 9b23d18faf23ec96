#include "compiler/import/lowering/padding.h"

#include <algorithm>
#include <cstdlib>

namespace berth::lowering {
namespace {

constexpr int64_t kMostElements = 1 << 24;

/// Which of `size` elements stands at `place`, which may lie outside.
int64_t source_of(int64_t place, int64_t size, Ends ends) {
  const auto modulo = [](int64_t a, int64_t b) { return (a % b + b) % b; };
  if (ends == Ends::kEdge) return std::clamp<int64_t>(place, 0, size - 1);
  if (ends == Ends::kWrap) return modulo(place, size);
  if (size == 1) return 0;
  const int64_t folded = modulo(place, 2 * (size - 1));
  return std::min(folded, 2 * (size - 1) - folded);
}

ValueId fixed_sources(Lowering& n, int64_t size, int64_t begin, int64_t end, Ends ends) {
  for (int64_t number : {size, begin, end}) {
    if (std::abs(number) > kMostElements) n.unsupported("padding to more than 2^24 elements is not supported");
  }
  if (n.ok() && (begin + size + end < 0 || (size == 0 && begin + end > 0))) n.invalid("no element to repeat");
  std::vector<int64_t> indices;
  for (int64_t place = -begin; place < size + end && n.ok(); ++place) indices.push_back(source_of(place, size, ends));
  return n.ints(indices);
}

/// source_of() of all places.
ValueId open_sources(Lowering& n, Dim size, Dim begin, Dim end, Ends ends) {
  ir::Symbols& s = n.symbols();
  const Dim last = s.sub(size, Dim(1));
  ValueId places =
      n.op(OpId::arange_start_out, {Dim(0), s.add(s.add(begin, size), end), Dim(1), number_of(DType::kI64)});
  places = n.op(OpId::add_Scalar_out, {places, s.mul(begin, Dim(-1))});
  if (ends == Ends::kEdge) return n.op(OpId::clamp_out, {places, Dim(0), last});
  if (ends == Ends::kWrap) return n.op(OpId::remainder_Scalar_out, {places, size});
  // Up and down again: the last element less the distance from it. A single element is all there is.
  const ValueId folded = n.op(OpId::remainder_Scalar_out, {places, s.max(s.mul(last, Dim(2)), Dim(1))});
  const ValueId distance = n.op(OpId::abs_out, {n.op(OpId::add_Scalar_out, {folded, s.mul(last, Dim(-1))})});
  return n.op(OpId::add_Scalar_out, {n.op(OpId::neg_out, {distance}), last});
}

}  // namespace

ValueId repeat_ends(Lowering& n, ValueId x, int axis, Dim begin, Dim end, Ends ends) {
  if (!n.ok() || (begin == Dim(0) && end == Dim(0))) return x;
  const Dim size = n.dim(x, axis);
  const bool fixed = size.is_constant() && begin.is_constant() && end.is_constant();
  const ValueId sources =
      fixed ? fixed_sources(n, size.value, begin.value, end.value, ends) : open_sources(n, size, begin, end, ends);
  return n.op(OpId::index_select_out, {x, Dim(axis), sources});
}

}  // namespace berth::lowering
