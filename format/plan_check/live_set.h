// LiveSet: which of a fixed number of address ranges are in a set, with a look-up of those that meet a given range.
//
// Ranges are sorted by their start once. A segment tree over that order holds, for each stretch, the largest end of the
// ranges in the set; so one step of a look-up, an insertion or a removal takes O(log n).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/span.h"

namespace berth::format::plan_check {

class LiveSet {
 public:
  /// All memory is the caller's: `order` and `rank` have one entry a range, `tree` has tree_size(count) entries,
  /// `words` has word_count(count). REQUIRES: begins[i] < ends[i].
  LiveSet(Span<const uint64_t> begins, Span<const uint64_t> ends, Span<int32_t> order, Span<int32_t> rank,
          Span<uint64_t> tree, Span<uint64_t> words);

  static size_t tree_size(size_t count);
  static size_t word_count(size_t count) { return (count + 63) / 64; }

  bool contains(uint32_t range) const { return (words_[range / 64] >> (range % 64) & 1) != 0; }
  void insert(uint32_t range);
  void remove(uint32_t range);

  /// One bit a range.
  Span<const uint64_t> words() const { return {words_.data(), words_.size()}; }
  /// Makes the set what `words` says, or adds what it says.
  void assign(Span<const uint64_t> words) { change(words, true); }
  void add_all(Span<const uint64_t> words) { change(words, false); }

  /// Position of the first range of the set, from position `from` on, that has a byte in [begin, end); -1: none. Go on
  /// with the position after it. Removing ranges in between is fine.
  int64_t find(uint64_t begin, uint64_t end, int64_t from) const;
  int32_t at(int64_t position) const { return order_[position]; }

 private:
  void change(Span<const uint64_t> words, bool remove_others);
  void set(uint32_t range, uint64_t end);

  Span<const uint64_t> begins_;
  Span<const uint64_t> ends_;
  Span<int32_t> order_;
  Span<int32_t> rank_;
  Span<uint64_t> tree_;
  Span<uint64_t> words_;
  size_t leaves_;
};

}  // namespace berth::format::plan_check
