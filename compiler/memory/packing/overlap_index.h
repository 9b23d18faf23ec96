// OverlapIndex: which buffers of a body share bytes with a given one while both are alive? An interval index answers
// for bytes or for steps alone, and in a body either may be the same for all.
#pragma once

#include <cstdint>
#include <limits>

#include "compiler/memory/packing/interval_index.h"

namespace berth::packing {

/// Parts of a whole differ in their bytes, successors in place in their live ranges: an index of each is gone through
/// side by side until one of them is done.
class OverlapIndex {
 public:
  /// The bytes and the live range of a buffer.
  struct Extent {
    int64_t begin;  // bytes
    int64_t size;
    int64_t lower;  // steps
    int64_t life;
  };

  void add(const Extent& extent, int32_t id) {
    bytes_.add(extent.begin, extent.size, id);
    lives_.add(extent.lower, extent.life, id);
  }
  void remove(const Extent& extent, int32_t id) {
    bytes_.remove(extent.begin, extent.size, id);
    lives_.remove(extent.lower, extent.life, id);
  }

  /// Whether wrong(id) holds for a member that shares bytes and a step with the extent.
  template <typename Wrong>
  bool any(const Extent& extent, const Wrong& wrong) const {
    IntervalIndex::Cursor by_bytes(bytes_, extent.begin, extent.begin + extent.size);
    IntervalIndex::Cursor by_life(lives_, extent.lower, end_of(extent.lower, extent.life));
    int32_t id = 0;
    while (true) {
      if (!by_bytes.next(&id)) return false;
      if (wrong(id)) return true;
      if (!by_life.next(&id)) return false;
      if (wrong(id)) return true;
    }
  }

 private:
  static int64_t end_of(int64_t begin, int64_t length) {
    int64_t end = 0;
    return __builtin_add_overflow(begin, length, &end) ? std::numeric_limits<int64_t>::max() : end;
  }

  IntervalIndex bytes_;
  IntervalIndex lives_;
};

}  // namespace berth::packing
