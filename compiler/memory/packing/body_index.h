// Which members of a body share bytes with a newcomer while both are alive?
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace berth::packing {

/// Runs of numbers, asked for those that meet a given one. In classes by the logarithm of their length: of each class
/// only those are looked at that begin less than its largest length before the given one; of the last, which has none,
/// all that begin before its end.
class Runs {
 public:
  void add(int64_t begin, int64_t length, int32_t id) { classes_[class_of(length)].insert({begin, id}); }
  void remove(int64_t begin, int64_t length, int32_t id) { classes_[class_of(length)].erase({begin, id}); }

  /// Goes through those that may meet [begin, end).
  class Cursor {
   public:
    Cursor(const Runs& runs, int64_t begin, int64_t end) : begin_(begin), end_(end), at_(runs.classes_.begin()) {
      last_ = runs.classes_.end();
      if (at_ != last_) enter();
    }

    /// False when there are no more.
    bool next(int32_t* id) {
      while (at_ != last_) {
        if (run_ != at_->second.end() && run_->first < end_) {
          *id = (run_++)->second;
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
      run_ = at_->second.lower_bound({first, -1});
    }

    const int64_t begin_;
    const int64_t end_;
    std::map<int, std::set<std::pair<int64_t, int32_t>>>::const_iterator at_;
    std::map<int, std::set<std::pair<int64_t, int32_t>>>::const_iterator last_;
    std::set<std::pair<int64_t, int32_t>>::const_iterator run_;
  };

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

/// The bytes and the lives of a body's members. Parts of a whole are told apart by their bytes, successors in place by
/// their lives: both are gone through side by side until one is done.
class BodyIndex {
 public:
  struct Box {
    int64_t begin;  // bytes
    int64_t size;
    int64_t lower;  // steps
    int64_t life;
  };

  void add(const Box& box, int32_t id) {
    bytes_.add(box.begin, box.size, id);
    lives_.add(box.lower, box.life, id);
  }
  void remove(const Box& box, int32_t id) {
    bytes_.remove(box.begin, box.size, id);
    lives_.remove(box.lower, box.life, id);
  }

  /// Whether wrong(id) holds for a member that shares bytes and a step with the box.
  template <typename Wrong>
  bool any(const Box& box, const Wrong& wrong) const {
    Runs::Cursor by_bytes(bytes_, box.begin, box.begin + box.size);
    Runs::Cursor by_life(lives_, box.lower, end_of(box.lower, box.life));
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

  Runs bytes_;
  Runs lives_;
};

}  // namespace berth::packing
