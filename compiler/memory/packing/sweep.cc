#include "compiler/memory/packing/sweep.h"

#include <algorithm>

#include "compiler/memory/packing/free_list.h"
#include "compiler/memory/packing/plan_each_space.h"

namespace berth::packing {
namespace {

/// The bodies in runs of one section each: those of section s are ids[begin[s], begin[s + 1]).
struct BySection {
  std::vector<int32_t> begin;
  std::vector<int32_t> ids;

  BySection(const Layout& layout, int32_t Piece::*section) : begin(layout.sections + 2, 0) {
    for (const Piece& piece : layout.pieces) ++begin[piece.*section + 1];
    for (size_t s = 1; s < begin.size(); ++s) begin[s] += begin[s - 1];
    std::vector<int32_t> next = begin;
    ids.resize(layout.pieces.size());
    for (size_t p = 0; p < ids.size(); ++p) {
      ids[next[layout.pieces[p].*section]++] = static_cast<int32_t>(p);
    }
  }
};

Placement sweep_single_pieces(const Layout& layout) {
  Placement placement;
  placement.positions.assign(layout.bodies.size(), 0);
  BySection births(layout, &Piece::lower);
  const BySection deaths(layout, &Piece::upper);
  FreeList free;
  const auto piece_of = [&](int32_t id) -> const Piece& { return layout.pieces[id]; };
  for (int32_t s = 0; s < layout.sections; ++s) {
    for (int32_t k = deaths.begin[s]; k < deaths.begin[s + 1]; ++k) {
      const int32_t id = deaths.ids[k];
      free.give_back(placement.positions[id] + piece_of(id).shift, piece_of(id).size);
    }
    const auto begin = births.ids.begin() + births.begin[s];
    const auto end = births.ids.begin() + births.begin[s + 1];
    std::sort(begin, end, [&](int32_t left, int32_t right) {
      const Piece& a = piece_of(left);
      const Piece& b = piece_of(right);
      if (a.size != b.size) return a.size > b.size;
      return a.upper != b.upper ? a.upper > b.upper : left < right;
    });
    for (auto it = begin; it != end; ++it) {
      const Body& body = layout.bodies[*it];
      const Piece& piece = piece_of(*it);
      const int64_t offset = free.take(piece.size, body.alignment, body.lowest + piece.shift);
      placement.positions[*it] = offset - piece.shift;
      placement.height = std::max(placement.height, offset + piece.size);
    }
  }
  return placement;
}

}  // namespace

Placement place_by_sweep(const Layout& layout) {
  if (layout.rectangular()) return sweep_single_pieces(layout);
  Placement placement = sweep_single_pieces(in_bounding_boxes(layout));
  placement.height = height_of(layout, placement.positions);
  return placement;
}

Expected<Plan> plan_sweep(const Problem& problem) {
  BERTH_TRY(check(problem));
  for (const Buffer& buffer : problem.buffers) {
    if (buffer.fixed != kAnywhere) return Failure{Error::kNotSupported, "", "the sweep takes no fixed offsets"};
  }
  return plan_each_space(problem, place_by_sweep);
}

}  // namespace berth::packing
