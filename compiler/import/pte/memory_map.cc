#include "compiler/import/pte/memory_map.h"

#include <algorithm>
#include <iterator>

namespace berth::pte {

int MemoryMap::find(const ByteRange& range) const {
  auto piece = pieces_.upper_bound({range.space, range.begin});
  if (piece != pieces_.begin()) {
    const auto before = std::prev(piece);
    if (before->first.first == range.space && before->second.end > range.begin) piece = before;
  }
  const auto inside = [&] {
    return piece != pieces_.end() && piece->first.first == range.space && piece->first.second < range.end;
  };
  if (!inside()) return kNothing;
  const int write = piece->second.write;
  uint64_t at = range.begin;
  for (; at < range.end; ++piece) {
    if (!inside() || piece->first.second > at || piece->second.write != write) return kSeveral;
    at = piece->second.end;
  }
  return write;
}

std::vector<std::pair<ByteRange, int>> MemoryMap::pieces(const ByteRange& range) const {
  auto piece = pieces_.upper_bound({range.space, range.begin});
  if (piece != pieces_.begin()) --piece;
  std::vector<std::pair<ByteRange, int>> all;
  uint64_t at = range.begin;
  for (; at < range.end; ++piece) {
    const bool here = piece != pieces_.end() && piece->first.first == range.space && piece->first.second <= at &&
                      piece->second.end > at;
    if (!here) return {};
    const uint64_t end = std::min(piece->second.end, range.end);
    const int write = piece->second.write;
    if (!all.empty() && all.back().second == write) {
      all.back().first.end = end;
    } else {
      all.push_back({ByteRange{range.space, at, end}, write});
    }
    at = end;
  }
  return all;
}

void MemoryMap::write(const ByteRange& range, int write) {
  auto piece = pieces_.upper_bound({range.space, range.begin});
  if (piece != pieces_.begin()) {
    const auto before = std::prev(piece);
    if (before->first.first == range.space && before->second.end > range.begin) piece = before;
  }
  while (piece != pieces_.end() && piece->first.first == range.space && piece->first.second < range.end) {
    const uint64_t begin = piece->first.second;
    const Piece old = piece->second;
    piece = pieces_.erase(piece);
    if (begin < range.begin) pieces_[{range.space, begin}] = {range.begin, old.write};
    if (old.end > range.end) pieces_[{range.space, range.end}] = {old.end, old.write};
  }
  pieces_[{range.space, range.begin}] = {range.end, write};
}

}  // namespace berth::pte
