// The load: how many bytes are alive in a section.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/memory/packing/layout.h"

namespace berth::packing {

/// For each section the sum of the sizes of its pieces. O(pieces + sections).
std::vector<int64_t> section_loads(const Layout& layout);

/// For each body the largest load of a section in which one of its pieces is alive. O(n log n).
std::vector<int64_t> loads_touched(const Layout& layout);

/// For each body the bytes of all pieces that are alive with one of its pieces at some time, its own included; what
/// meets several of its pieces counts several times. O(n + sections).
std::vector<int64_t> neighbour_bytes(const Layout& layout);

/// How many pairs of pieces are live at once. O(pieces + sections).
int64_t count_pairs(const Layout& layout);

}  // namespace berth::packing
