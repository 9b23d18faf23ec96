// MemoryMap: which write left its bytes where, as instructions pass.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace berth::pte {

/// Bytes [begin, end) of an arena, or of a value that lies in none. REQUIRES: begin < end.
struct Region {
  uint32_t space = 0;
  uint64_t begin = 0;
  uint64_t end = 0;

  bool same_place(const Region& other) const {
    return space == other.space && begin == other.begin && end == other.end;
  }
};

class MemoryMap {
 public:
  static constexpr int kNothing = -1;  // nothing was written to any of the bytes
  static constexpr int kSeveral = -2;  // no one write left all of them

  /// The write whose bytes all of `region` are.
  int find(const Region& region) const;
  /// What lies in `region`, from its start to its end; empty when some of its bytes were never written.
  std::vector<std::pair<Region, int>> pieces(const Region& region) const;
  /// From now on `region` has the bytes of `write` (not negative).
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
