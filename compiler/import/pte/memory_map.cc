#include "compiler/import/pte/memory_map.h"

#include <algorithm>
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

std::vector<std::pair<Region, int>> MemoryMap::pieces(const Region& region) const {
  auto piece = pieces_.upper_bound({region.space, region.begin});
  if (piece != pieces_.begin()) --piece;
  std::vector<std::pair<Region, int>> all;
  uint64_t at = region.begin;
  for (; at < region.end; ++piece) {
    const bool here = piece != pieces_.end() && piece->first.first == region.space && piece->first.second <= at &&
                      piece->second.end > at;
    if (!here) return {};
    const uint64_t end = std::min(piece->second.end, region.end);
    const int write = piece->second.write;
    if (!all.empty() && all.back().second == write) {
      all.back().first.end = end;
    } else {
      all.push_back({Region{region.space, at, end}, write});
    }
    at = end;
  }
  return all;
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
