#include "compiler/memory/packing/naive.h"

#include <algorithm>

#include "base/math.h"
#include "compiler/memory/packing/plan_each_space.h"

namespace berth::packing {
namespace {

Placement place_all_above_each_other(const Layout& layout) {
  Placement placement;
  placement.positions.assign(layout.bodies.size(), 0);
  for (const Body& body : layout.bodies) {
    if (body.fixed == kAnywhere) continue;
    const Piece& piece = layout.pieces[body.begin];
    placement.height = std::max(placement.height, body.fixed + piece.size);
  }
  for (size_t b = 0; b < layout.bodies.size(); ++b) {
    const Body& body = layout.bodies[b];
    placement.positions[b] = body.fixed;
    if (body.fixed != kAnywhere) continue;
    placement.positions[b] = align_up(placement.height, body.alignment);
    placement.height = placement.positions[b] + layout.pieces[body.begin].size;
  }
  return placement;
}

}  // namespace

Expected<Plan> plan_naive(const Problem& problem) {
  BERTH_TRY(check(problem));
  return plan_each_space(problem, place_all_above_each_other);
}

}  // namespace berth::packing
