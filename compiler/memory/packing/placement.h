// Placement: where the bodies of a layout lie.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/memory/packing/layout.h"

namespace berth::packing {

struct Placement {
  std::vector<int64_t> positions;  // one a body
  int64_t height = 0;              // bytes
};

/// A placement and what is known of all others of its layout.
struct BoundedPlacement {
  Placement placement;
  int64_t bound = 0;  // no placement is lower

  bool optimal() const { return placement.height <= bound; }
};

/// The offsets of the problem's buffers: those without bytes lie at 0, where they are fixed, or where a candidate says.
std::vector<int64_t> offsets_of(const Problem& problem, const Layout& layout, const Placement& placement);

/// The largest end of a piece.
int64_t height_of(const Layout& layout, const std::vector<int64_t>& positions);

}  // namespace berth::packing
