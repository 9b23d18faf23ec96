#include "compiler/memory/packing/layout.h"

#include <algorithm>
#include <utility>

#include "compiler/memory/packing/sections.h"
#include "compiler/memory/packing/step_pieces.h"

namespace berth::packing {
namespace {

class LayoutMaker {
 public:
  explicit LayoutMaker(const Problem& problem) : problem_(problem) {
    layout_.body_of.assign(problem.buffers.size(), -1);
    layout_.shift_of.assign(problem.buffers.size(), 0);
    layout_.bodies.reserve(problem.buffers.size());
    pieces_.reserve(problem.buffers.size());
  }

  void add_buffer(int32_t id) {
    const Buffer& buffer = problem_.buffers[id];
    if (buffer.size == 0) return;
    pieces_.push_back({buffer.lower, buffer.upper, 0, buffer.size});
    layout_.body_of[id] = next_body();
    Body body;
    body.begin = static_cast<int32_t>(pieces_.size()) - 1;
    body.end = body.begin + 1;
    body.alignment = buffer.alignment;
    body.fixed = buffer.fixed;
    layout_.bodies.push_back(body);
  }

  void add_body(const ChosenAliases& candidates, int32_t number) {
    const AllowedOffsets allowed = candidates.allowed_offsets(number);
    std::vector<StepPiece> parts;
    for (const int32_t id : candidates.buffers_of(number)) {
      const Buffer& buffer = problem_.buffers[id];
      const int64_t shift = candidates.in_body(id).shift - allowed.shift;
      layout_.shift_of[id] = shift;
      if (buffer.size > 0) parts.push_back({buffer.lower, buffer.upper, shift, buffer.size});
    }
    const int64_t lowest = (allowed.lowest + allowed.alignment - 1) / allowed.alignment * allowed.alignment;
    if (parts.empty()) {
      // Nothing is to be placed, but the buffers lie at their distances all the same.
      const int64_t base = allowed.fixed != kAnywhere ? allowed.fixed : lowest;
      for (const int32_t id : candidates.buffers_of(number)) layout_.shift_of[id] += base;
      return;
    }
    parts = union_of(std::move(parts));
    for (const int32_t id : candidates.buffers_of(number)) layout_.body_of[id] = next_body();
    Body body;
    body.begin = static_cast<int32_t>(pieces_.size());
    pieces_.insert(pieces_.end(), parts.begin(), parts.end());
    body.end = static_cast<int32_t>(pieces_.size());
    body.alignment = allowed.alignment;
    body.fixed = allowed.fixed;
    body.lowest = lowest;
    layout_.bodies.push_back(body);
  }

  Layout finish() {
    const Sections sections(pieces_);
    layout_.sections = sections.count();
    layout_.pieces.reserve(pieces_.size());
    for (const StepPiece& piece : pieces_) {
      const uint64_t steps = static_cast<uint64_t>(piece.upper) - static_cast<uint64_t>(piece.lower);
      layout_.pieces.push_back({sections.lower(piece), sections.upper(piece), piece.shift, piece.size,
                                static_cast<int64_t>(std::min(steps, uint64_t{1} << 30))});
    }
    return std::move(layout_);
  }

 private:
  int32_t next_body() const { return static_cast<int32_t>(layout_.bodies.size()); }

  const Problem& problem_;
  std::vector<StepPiece> pieces_;
  Layout layout_;
};

}  // namespace

bool Layout::rectangular() const {
  for (const Body& body : bodies) {
    if (body.end != body.begin + 1 || pieces[body.begin].shift != 0) return false;
  }
  return true;
}

bool Layout::any_fixed() const {
  for (const Body& body : bodies) {
    if (body.fixed != kAnywhere) return true;
  }
  return false;
}

Layout make_layout(const Problem& problem, const ChosenAliases* candidates) {
  LayoutMaker maker(problem);
  for (int32_t i = 0; i < static_cast<int32_t>(problem.buffers.size()); ++i) {
    if (candidates == nullptr || (candidates->is_body(i) && candidates->buffers_of(i).size() == 1)) {
      maker.add_buffer(i);
    } else if (candidates->is_body(i)) {
      maker.add_body(*candidates, i);
    }
  }
  return maker.finish();
}

Layout in_bounding_boxes(const Layout& layout) {
  Layout out = layout;
  out.pieces.clear();
  for (Body& body : out.bodies) {
    Piece box = layout.pieces[body.begin];
    int64_t end = box.shift + box.size;
    for (int32_t p = body.begin + 1; p < body.end; ++p) {
      const Piece& piece = layout.pieces[p];
      box.lower = std::min(box.lower, piece.lower);
      box.upper = std::max(box.upper, piece.upper);
      box.shift = std::min(box.shift, piece.shift);
      end = std::max(end, piece.shift + piece.size);
    }
    box.size = end - box.shift;
    body.begin = static_cast<int32_t>(out.pieces.size());
    body.end = body.begin + 1;
    out.pieces.push_back(box);
  }
  return out;
}

}  // namespace berth::packing
