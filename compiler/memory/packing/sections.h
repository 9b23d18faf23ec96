// Sections: runs of steps, as few as keep apart what the steps keep apart (layout.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/memory/packing/step_pieces.h"

namespace berth::packing {

/// The sections of the live ranges of some pieces. Numbering takes O(n) where there are few steps more than pieces, and
/// O(n log n) elsewhere.
class Sections {
 public:
  explicit Sections(const std::vector<StepPiece>& all);

  int32_t count() const { return count_; }
  /// The sections of one of these pieces are [lower, upper).
  int32_t lower(const StepPiece& piece) const;
  int32_t upper(const StepPiece& piece) const;

 private:
  void number_by_table(const std::vector<StepPiece>& all, size_t range);
  void number_by_sorting(const std::vector<StepPiece>& all);

  int64_t first_ = 0;
  int32_t count_ = 0;
  std::vector<int32_t> table_;   // of each step from the first: the section that it belongs to
  std::vector<int64_t> starts_;  // without a table: the step in which each section begins
};

}  // namespace berth::packing
