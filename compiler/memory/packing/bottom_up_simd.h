// Vectorised bottom-up packing for up to kFewBodies (1000) bodies, reusable across calls.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/memory/packing/search_problem.h"

namespace berth::packing {

/// Like place_bottom_up(), with the same offsets if `delay` is 0, but with one pass over all bodies for each that is
/// placed, and heights of 16 or 32 bits, many of which are compared at once. About ten times as fast for a few hundred
/// bodies. Keeps its memory between calls. Not thread-safe.
template <typename Height>
class BottomUpSimd {
 public:
  /// `problem` must outlive this. REQUIRES: sections, alignments and `delay` are at most a quarter of the largest
  /// Height, in units.
  ///
  /// With a delay the order counts for more than ties: the body that goes next is the one with the smallest sum of the
  /// lowest place it can have and the delay times its rank, as a part of all; so the first in the order may go although
  /// a later one could lie a little lower.
  BottomUpSimd(const SearchProblem& problem, int64_t delay);

  /// Offsets in units, one a body; `order` names each once. False when one would end above half the largest Height.
  bool place(const std::vector<int32_t>& order, std::vector<int64_t>* offsets);

 private:
  void arrange(const std::vector<int32_t>& order);
  size_t find(Height key) const;
  void fill_up(size_t bodies);
  void drop_placed();
  template <bool aligned>
  Height raise(Height begin, Height end, Height top);

  const SearchProblem& problem_;
  const int64_t delay_;
  bool aligned_ = false;
  // Columns: the bodies that are left, in order, among them and after them some that are placed.
  size_t count_ = 0;
  std::vector<int32_t> ids_;
  std::vector<Height> begins_;  // sections
  std::vector<Height> ends_;
  std::vector<Height> past_alignment_;  // units, less one
  std::vector<Height> delays_;          // 0 when it is placed
  std::vector<Height> low_;             // the largest Height when it is placed
  std::vector<Height> keys_;            // the sum of the two
};

extern template class BottomUpSimd<int16_t>;
extern template class BottomUpSimd<int32_t>;

}  // namespace berth::packing
