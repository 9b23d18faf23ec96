#include "compiler/import/pte/memory_map.h"

#include <iterator>

namespace berth::pte {

int MemoryMap::find(const Region& region) const {
  auto piece = pieces_.upper_bound({region.space, region.begin});
  if (piece != pieces_.begin()) {
    const auto before = std::prev(piece);
    if (before->first.first == region.space && before->second.end > region.begin) piece = before;
  }
  const auto inside = [&] {
    return piece != pieces_.end() && piece->first.first == region.space && piece->first.second < region.end;
  };
  if (!inside()) return kNothing;
  const int write = piece->second.write;
  uint64_t at = region.begin;
  for (; at < region.end; ++piece) {
    if (!inside() || piece->first.second > at || piece->second.write != write) return kSeveral;
    at = piece->second.end;
  }
  return write;
}

void MemoryMap::write(const Region& region, int write) {
  auto piece = pieces_.upper_bound({region.space, region.begin});
  if (piece != pieces_.begin()) {
    const auto before = std::prev(piece);
    if (before->first.first == region.space && before->second.end > region.begin) piece = before;
  }
  while (piece != pieces_.end() && piece->first.first == region.space && piece->first.second < region.end) {
    const uint64_t begin = piece->first.second;
    const Piece old = piece->second;
    piece = pieces_.erase(piece);
    if (begin < region.begin) pieces_[{region.space, begin}] = {region.begin, old.write};
    if (old.end > region.end) pieces_[{region.space, region.end}] = {old.end, old.write};
  }
  pieces_[{region.space, region.begin}] = {region.end, write};
}

}  // namespace berth::pte
