#include "compiler/plan/placed_rows.h"

#include <algorithm>

#include "compiler/plan/load.h"

namespace berth::plan {
namespace {

/// Of both ways, in the same unit: a step of sorting, and a row that is gone through or moved.
constexpr int64_t kSortStep = 3;
constexpr int64_t kRow = 1;

}  // namespace

bool PlacedRows::are_faster(const Layout& layout) {
  const int64_t count = static_cast<int64_t>(layout.pieces.size());
  if (count == 0) return false;
  const int64_t pairs = count_pairs(layout);
  int64_t steps = 1;
  while (pairs / count >> steps != 0) ++steps;
  return pairs > kRow * count / kSortStep * count / steps;
}

void PlacedRows::add(const Piece& piece, int64_t begin) {
  const auto at = std::upper_bound(begins_.begin(), begins_.end(), begin) - begins_.begin();
  begins_.insert(begins_.begin() + at, begin);
  sizes_.insert(sizes_.begin() + at, piece.size);
  lives_.insert(lives_.begin() + at, {piece.lower, piece.upper});
}

}  // namespace berth::plan
