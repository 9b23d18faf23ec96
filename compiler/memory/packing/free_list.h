// FreeList: where do so many bytes fit at this time of a sweep? The other indices know what is taken; this one knows
// what is not.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace berth::packing {

/// The free bytes below the highest end so far, as maximal runs. Two sorted arrays: moving a few thousand entries is
/// faster than any tree, and there are seldom more.
class FreeList {
 public:
  FreeList() = default;
  /// What is taken already: [first, second), in any order, disjoint.
  explicit FreeList(std::vector<std::pair<int64_t, int64_t>> taken);

  /// The smallest run that holds it, the lowest of equal ones. The offset given is `residue` more than a multiple of
  /// `alignment`, and at least `residue`.
  int64_t take(int64_t size, int64_t alignment, int64_t residue);
  void give_back(int64_t begin, int64_t size);

 private:
  struct Run {
    int64_t begin;
    int64_t length;
  };

  static bool earlier(const Run& a, const Run& b) { return a.begin < b.begin; }
  static bool smaller(const Run& a, const Run& b) {
    return a.length != b.length ? a.length < b.length : a.begin < b.begin;
  }
  void add(const Run& run);
  void remove(const Run& run);

  std::vector<Run> by_begin_;
  std::vector<Run> by_size_;
  int64_t top_ = 0;  // everything from here on is free
};

}  // namespace berth::packing
