// What the exact search works on: rectangles in small whole numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/memory/packing/layout.h"

namespace berth::packing {

/// A body as a rectangle: sections [lower, upper), `size` units high.
struct Item {
  int32_t lower = 0;
  int32_t upper = 0;
  int64_t size = 0;
  int64_t alignment = 1;  // units
  int64_t steps = 0;      // how long it lives, at most 2^30
  int32_t twin = -1;      // the last item before this one that is like it in everything
};

struct Items {
  std::vector<Item> items;  // one a body, in the layout's order
  int32_t sections = 0;
  int64_t unit = 1;  // bytes: every size and alignment is a multiple of it
};

/// The items of a layout. False when the search cannot take it: a body is fixed or no rectangle at its position, there
/// are more than `most` bodies.
bool make_items(const Layout& layout, size_t most, Items* out);
/// The same whatever the bodies are: each as the rectangle of its first piece, for rankings.
void make_rectangles(const Layout& layout, Items* out);

}  // namespace berth::packing
