// IntervalIndex: which intervals of a set that grows and shrinks may meet a given one? The other indices are made for a
// layout that does not change (docs/decisions/0011-interval-indices.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace berth::packing {

/// In classes by the logarithm of their length: of each class only those are looked at that begin less than its largest
/// length before the given one; of the last, which has none, all that begin before its end. So a question takes
/// O(log n) for each class, and what it looks at in vain begins within two of its lengths.
class IntervalIndex {
 public:
  void add(int64_t begin, int64_t length, int32_t id) { classes_[class_of(length)].insert({begin, id}); }
  void remove(int64_t begin, int64_t length, int32_t id) { classes_[class_of(length)].erase({begin, id}); }

  /// Goes through those that may meet [begin, end), short ones first.
  class Cursor {
   public:
    Cursor(const IntervalIndex& index, int64_t begin, int64_t end)
        : begin_(begin), end_(end), at_(index.classes_.begin()) {
      last_ = index.classes_.end();
      if (at_ != last_) enter();
    }

    /// False when there are no more.
    bool next(int32_t* id) {
      while (at_ != last_) {
        if (interval_ != at_->second.end() && interval_->first < end_) {
          *id = (interval_++)->second;
          return true;
        }
        if (++at_ != last_) enter();
      }
      return false;
    }

   private:
    void enter() {
      int64_t first = 0;
      // The last class has no largest length.
      if (at_->first >= kLastClass || __builtin_sub_overflow(begin_, int64_t{2} << at_->first, &first)) {
        first = std::numeric_limits<int64_t>::min();
      }
      interval_ = at_->second.lower_bound({first, -1});
    }

    const int64_t begin_;
    const int64_t end_;
    std::map<int, std::set<std::pair<int64_t, int32_t>>>::const_iterator at_;
    std::map<int, std::set<std::pair<int64_t, int32_t>>>::const_iterator last_;
    std::set<std::pair<int64_t, int32_t>>::const_iterator interval_;
  };

  template <typename Visit>
  void for_each(int64_t begin, int64_t end, const Visit& visit) const {
    Cursor cursor(*this, begin, end);
    for (int32_t id = 0; cursor.next(&id);) visit(id);
  }

 private:
  static constexpr int kLastClass = 61;

  /// The largest c with 2^c at most the length, the last class for what is longer.
  static int class_of(int64_t length) {
    int c = 0;
    while (c < kLastClass && (length >> c) > 1) ++c;
    return c;
  }

  std::map<int, std::set<std::pair<int64_t, int32_t>>> classes_;
};

}  // namespace berth::packing
