#include "compiler/memory/packing/placed_by_offset.h"

#include <algorithm>

#include "compiler/memory/packing/load.h"

namespace berth::packing {
namespace {

/// Of both ways, in the same unit: a step of sorting, and an entry that is gone through or moved.
constexpr int64_t kSortStep = 3;
constexpr int64_t kEntry = 1;

/// Pairs of pieces of one body that are live at once: those are placed together, and nothing looks at them.
int64_t pairs_within(const Layout& layout, const Body& body) {
  std::vector<int32_t> births;
  std::vector<int32_t> deaths;
  for (int32_t p = body.begin; p < body.end; ++p) {
    births.push_back(layout.pieces[p].lower);
    deaths.push_back(layout.pieces[p].upper);
  }
  std::sort(births.begin(), births.end());
  std::sort(deaths.begin(), deaths.end());
  int64_t pairs = 0;
  size_t dead = 0;
  for (size_t born = 0; born < births.size(); ++born) {
    while (deaths[dead] <= births[born]) ++dead;
    pairs += static_cast<int64_t>(born - dead);
  }
  return pairs;
}

}  // namespace

bool PlacedByOffset::is_faster(const Layout& layout) {
  const int64_t count = static_cast<int64_t>(layout.pieces.size());
  if (count == 0) return false;
  int64_t pairs = count_pairs(layout);
  for (const Body& body : layout.bodies) {
    if (body.end - body.begin > 1) pairs -= pairs_within(layout, body);
  }
  int64_t steps = 1;
  while (pairs / count >> steps != 0) ++steps;
  return pairs > kEntry * count / kSortStep * count / steps;
}

void PlacedByOffset::add(int32_t id, int64_t begin) {
  const Piece& piece = layout_.pieces[id];
  const auto at = std::upper_bound(begins_.begin(), begins_.end(), begin) - begins_.begin();
  begins_.insert(begins_.begin() + at, begin);
  sizes_.insert(sizes_.begin() + at, piece.size);
  lives_.insert(lives_.begin() + at, {piece.lower, piece.upper});
}

}  // namespace berth::packing
