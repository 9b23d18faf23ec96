// Recordings: the recorded runs of a delegate, found by the addresses and sizes of the arguments that they were
// recorded with. Private to backends/nested/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/span.h"

namespace berth {

/// The most recently used kMost sets of arguments. Only reserve() allocates from the heap.
class Recordings {
 public:
  static constexpr size_t kMost = 8;

  struct Entry {
    std::vector<uint64_t> arguments;
    std::vector<int32_t> sizes;  // of the outputs, when `recording` was made
    void* recording = nullptr;   // null: these arguments were used, but not recorded
    uint64_t last_used = 0;      // 0: the entry is empty
  };

  /// Makes room for keys of `words` words, and for `sizes` sizes of outputs.
  void reserve(size_t words, size_t sizes);

  /// The entry of `arguments`, as the most recently used; null when there is none.
  Entry* find(Span<const uint64_t> arguments);

  /// The least recently used entry, of those without a recording where there are any; to be overwritten by add(), when
  /// its recording was discarded.
  Entry& oldest();
  /// Makes `entry` that of `arguments`, without a recording. REQUIRES: its recording is null.
  void add(Entry& entry, Span<const uint64_t> arguments);

  Span<Entry> entries() { return {entries_, kMost}; }

 private:
  Entry entries_[kMost];
  uint64_t clock_ = 0;
};

}  // namespace berth
