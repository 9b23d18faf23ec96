// The pieces of a body, in steps: the bytes that its buffers take together, each counted once.
#pragma once

#include <cstdint>
#include <vector>

namespace berth::packing {

/// A piece in steps, not yet in sections (layout.h).
struct StepPiece {
  int64_t lower;
  int64_t upper;
  int64_t shift;
  int64_t size;
};

/// Joins pieces of the same bytes whose live ranges meet, and cuts from each the steps in which a larger one holds its
/// bytes. REQUIRES: there is one.
std::vector<StepPiece> union_of(std::vector<StepPiece> all);

}  // namespace berth::packing
