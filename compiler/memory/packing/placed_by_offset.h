// PlacedByOffset: where do the pieces lie that are live together with a given one, from the lowest to the highest?
// Takes O(n), but its answers need no sorting: faster than PlacedByLife where more than a tenth of all are live at
// once.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/memory/packing/layout.h"

namespace berth::packing {

/// The pieces placed so far, sorted by their first byte. A question goes through all of them; adding moves what lies
/// above. Both are O(n), of little for each: where a tenth of all are live together that is less than sorting those,
/// and of a thousand that are all live a tenth of it.
class PlacedByOffset {
 public:
  static constexpr bool kVisitsByOffset = true;

  /// Knows the pieces of `layout`, none of them added yet. The layout must outlive it.
  explicit PlacedByOffset(const Layout& layout) : layout_(layout) {}

  /// Whether placing all pieces of `layout` one by one takes less time with this than with PlacedByLife.
  static bool is_faster(const Layout& layout);

  /// Adds the piece `id`, which begins at `begin`.
  void add(int32_t id, int64_t begin);

  /// Calls visit(first byte, end) for each added piece that is live in a section of [lower, upper), by first byte; not
  /// const, since it keeps its memory.
  template <typename Visit>
  void for_each(int32_t lower, int32_t upper, const Visit& visit) {
    found_.resize(begins_.size());
    size_t count = 0;
    for (size_t i = 0; i < lives_.size(); ++i) {
      found_[count] = static_cast<int32_t>(i);
      // Which are alive is as good as random: no branch.
      count += static_cast<size_t>(lives_[i].lower < upper) & static_cast<size_t>(lower < lives_[i].upper);
    }
    for (size_t k = 0; k < count; ++k) {
      const size_t i = found_[k];
      visit(begins_[i], begins_[i] + sizes_[i]);
    }
  }

 private:
  struct Life {
    int32_t lower;
    int32_t upper;
  };

  const Layout& layout_;
  std::vector<int64_t> begins_;
  std::vector<int64_t> sizes_;
  std::vector<Life> lives_;
  std::vector<int32_t> found_;
};

}  // namespace berth::packing
