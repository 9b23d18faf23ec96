// SearchProblem: what the exact search works on, the bodies of a layout in small whole numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/memory/packing/layout.h"

namespace berth::packing {

/// A body as a rectangle: sections [lower, upper), `size` units high.
struct SearchBody {
  int32_t lower = 0;
  int32_t upper = 0;
  int64_t size = 0;
  int64_t alignment = 1;  // units
  int64_t steps = 0;      // how long it lives, at most 2^30
  int32_t twin = -1;      // the last body before this one that is like it in everything
};

struct SearchProblem {
  std::vector<SearchBody> bodies;  // one a body, in the layout's order
  int32_t sections = 0;
  int64_t unit = 1;  // bytes: every size and alignment is a multiple of it
};

/// The bodies of a layout. Nothing when the search cannot take it: a body is fixed, of several pieces, or may not lie
/// at 0, or there are more than `most` bodies.
std::optional<SearchProblem> search_problem(const Layout& layout, size_t most);
/// The same wherever the bodies may lie and however many they are: for rankings. REQUIRES: layout.rectangular().
SearchProblem ranking_problem(const Layout& layout);

}  // namespace berth::packing
