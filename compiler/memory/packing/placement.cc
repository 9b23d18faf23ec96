#include "compiler/memory/packing/placement.h"

#include <algorithm>

namespace berth::packing {

std::vector<int64_t> offsets_of(const Problem& problem, const Layout& layout, const Placement& placement) {
  std::vector<int64_t> offsets(problem.buffers.size(), 0);
  for (size_t i = 0; i < offsets.size(); ++i) {
    const int32_t body = layout.body_of[i];
    offsets[i] = layout.shift_of[i];
    if (body >= 0) {
      offsets[i] += placement.positions[body];
    } else if (problem.buffers[i].fixed != kAnywhere) {
      offsets[i] = problem.buffers[i].fixed;
    }
  }
  return offsets;
}

int64_t height_of(const Layout& layout, const std::vector<int64_t>& positions) {
  int64_t height = 0;
  for (size_t b = 0; b < positions.size(); ++b) {
    for (int32_t p = layout.bodies[b].begin; p < layout.bodies[b].end; ++p) {
      const Piece& piece = layout.pieces[p];
      height = std::max(height, positions[b] + piece.shift + piece.size);
    }
  }
  return height;
}

}  // namespace berth::packing
