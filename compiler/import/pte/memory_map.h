// MemoryMap: tracks the last write to each byte range while instructions are replayed.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace berth::pte {

/// Bytes [begin, end) of an arena, or of a value outside of arenas. REQUIRES: begin < end.
struct Region {
  uint32_t space = 0;
  uint64_t begin = 0;
  uint64_t end = 0;

  bool covers_same_bytes(const Region& other) const {
    return space == other.space && begin == other.begin && end == other.end;
  }
};

class MemoryMap {
 public:
  static constexpr int kNothing = -1;  // nothing was written to any of the bytes
  static constexpr int kSeveral = -2;  // no one write left all of them

  /// The write that wrote all of `region`.
  int find(const Region& region) const;
  /// The writes in `region`, in order of address; empty if some of its bytes were never written.
  std::vector<std::pair<Region, int>> pieces(const Region& region) const;
  /// Records that `write` (not negative) wrote `region`.
  void write(const Region& region, int write);

 private:
  struct Piece {
    uint64_t end = 0;
    int write = 0;
  };
  using Key = std::pair<uint32_t, uint64_t>;  // space, begin
  std::map<Key, Piece> pieces_;               // none overlaps another
};

}  // namespace berth::pte
