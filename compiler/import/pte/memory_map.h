// MemoryMap: tracks the last write to each byte range while instructions are replayed.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace berth::pte {

/// Bytes [begin, end) of an arena, or of a value outside of arenas. REQUIRES: begin < end.
struct ByteRange {
  uint32_t space = 0;
  uint64_t begin = 0;
  uint64_t end = 0;

  bool covers_same_bytes(const ByteRange& other) const {
    return space == other.space && begin == other.begin && end == other.end;
  }
};

class MemoryMap {
 public:
  static constexpr int kNothing = -1;  // nothing was written to any of the bytes
  static constexpr int kSeveral = -2;  // no one write left all of them

  /// The write that wrote all of `range`.
  int find(const ByteRange& range) const;
  /// The writes in `range`, in order of address; empty if some of its bytes were never written.
  std::vector<std::pair<ByteRange, int>> pieces(const ByteRange& range) const;
  /// Records that `write` (not negative) wrote `range`.
  void write(const ByteRange& range, int write);

 private:
  struct Piece {
    uint64_t end = 0;
    int write = 0;
  };
  using Key = std::pair<uint32_t, uint64_t>;  // space, begin
  std::map<Key, Piece> pieces_;               // none overlaps another
};

}  // namespace berth::pte
