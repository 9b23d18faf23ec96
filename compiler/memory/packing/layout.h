// Layout: the planners' form of a problem of one space, with aliases resolved and time steps compressed into sections.
//
// A new section begins only where a live range begins after another has ended, so a section has the largest set of
// buffers of its steps, and two buffers are live together exactly if their ranges of sections overlap. Buffers without
// bytes are not part of a layout.
//
//     step      0 1 2 3 4 5          section   0 1
//     A         = = =                A         =
//     B           = = = = =          B         = =
//     C               = = =          C           =
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/memory/packing/chosen_aliases.h"
#include "compiler/memory/packing/problem.h"

namespace berth::packing {

/// A rectangle of a body: bytes that are alive in a run of sections.
struct Piece {
  int32_t lower = 0;  // sections [lower, upper)
  int32_t upper = 0;
  int64_t shift = 0;  // its first byte less the body's position
  int64_t size = 0;   // bytes, positive
  int64_t steps = 0;  // how long it lives; 2^30 stands for more
};

/// What gets an offset: a buffer, or several that taken candidates hold at fixed distances (chosen_aliases.h). One
/// buffer is one piece; of several that lie in each other, the pieces are the bytes of their union.
struct Body {
  int32_t begin = 0;  // its pieces are Layout::pieces[begin, end)
  int32_t end = 0;
  int64_t alignment = 1;  // of the position
  int64_t lowest = 0;     // the position is at least this, a multiple of the alignment
  int64_t fixed = kAnywhere;
};

/// Pieces of one body share no byte in a section, as long as each candidate puts a buffer inside another.
struct Layout {
  std::vector<Body> bodies;
  std::vector<Piece> pieces;
  int32_t sections = 0;
  std::vector<int32_t> body_of;   // of each buffer of the problem; -1: it has no bytes
  std::vector<int64_t> shift_of;  // of each buffer: its offset less its body's position; without a body, its offset

  /// Whether each body has one piece, at its position.
  bool rectangular() const;
  bool any_fixed() const;
};

/// The layout of `problem`, of whose spaces only the first is looked at, under the candidates of `candidates` (null:
/// none). REQUIRES: check(problem) is ok. O(n log n).
Layout make_layout(const Problem& problem, const ChosenAliases* candidates = nullptr);

/// The same with each body of several pieces in one piece around them: simpler, but it may take more bytes.
Layout in_bounding_boxes(const Layout& layout);

}  // namespace berth::packing
