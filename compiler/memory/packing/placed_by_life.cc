#include "compiler/memory/packing/placed_by_life.h"

#include <algorithm>

namespace berth::packing {

PlacedByLife::PlacedByLife(const Layout& layout) : layout_(layout), begins_(layout.pieces.size()) {
  const size_t pieces = layout.pieces.size();
  born_before_.assign(layout.sections + 1, 0);
  for (const Piece& piece : layout.pieces) ++born_before_[piece.lower + 1];
  for (size_t s = 1; s < born_before_.size(); ++s) born_before_[s] += born_before_[s - 1];
  std::vector<int32_t> next = born_before_;
  ids_.resize(pieces);
  positions_.resize(pieces);
  for (size_t id = 0; id < pieces; ++id) {
    const int32_t position = next[layout.pieces[id].lower]++;
    positions_[id] = position;
    ids_[position] = static_cast<int32_t>(id);
  }
  while (leaves_ < pieces) leaves_ *= 2;
  latest_death_.assign(2 * leaves_, -1);
}

void PlacedByLife::add(int32_t id, int64_t begin) {
  begins_[id] = begin;
  const int32_t death = layout_.pieces[id].upper;
  for (size_t node = leaves_ + static_cast<size_t>(positions_[id]); node > 0; node /= 2) {
    latest_death_[node] = std::max(latest_death_[node], death);
  }
}

}  // namespace berth::packing
