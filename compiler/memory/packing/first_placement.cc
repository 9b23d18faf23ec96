#include "compiler/memory/packing/first_placement.h"

#include <utility>

#include "compiler/memory/packing/greedy.h"
#include "compiler/memory/packing/order_by.h"
#include "compiler/memory/packing/sweep.h"

namespace berth::packing {

std::optional<BoundedPlacement> first_placement(const Layout& layout, int64_t bound) {
  if (!layout.any_fixed()) return BoundedPlacement{place_by_sweep(layout), bound};
  std::optional<Placement> placed =
      place_in_order(layout, order_by(layout, Key::kSize), Fit::kBest, kUnlimited, nullptr);
  if (!placed.has_value()) return std::nullopt;
  return BoundedPlacement{std::move(*placed), bound};
}

}  // namespace berth::packing
