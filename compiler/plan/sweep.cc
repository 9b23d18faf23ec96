#include "compiler/plan/sweep.h"

#include <algorithm>

#include "base/math.h"
#include "compiler/plan/spaces.h"

namespace berth::plan {
namespace {

/// The free bytes below the highest end so far, as maximal runs. Two sorted arrays: moving a few thousand entries is
/// faster than any tree, and there are seldom more.
class FreeRuns {
 public:
  /// The offset given is `residue` more than a multiple of `alignment`, and at least `residue`.
  int64_t take(int64_t size, int64_t alignment, int64_t residue) {
    // Alignment may spoil a run that is large enough, but not one that is larger by it.
    auto it = std::lower_bound(by_size_.begin(), by_size_.end(), Run{0, size}, smaller);
    for (; it != by_size_.end(); ++it) {
      const Run run = *it;
      const int64_t offset = aligned(run.begin, alignment, residue);
      if (offset + size > run.begin + run.length) continue;
      remove(run);
      add({run.begin, offset - run.begin});
      add({offset + size, run.begin + run.length - offset - size});
      return offset;
    }
    const int64_t offset = aligned(top_, alignment, residue);
    add({top_, offset - top_});
    top_ = offset + size;
    return offset;
  }

  void give_back(int64_t begin, int64_t size) {
    auto next = std::lower_bound(by_begin_.begin(), by_begin_.end(), Run{begin, 0}, earlier);
    if (next != by_begin_.end() && next->begin == begin + size) {
      const Run run = *next;
      size += run.length;
      remove(run);
      next = std::lower_bound(by_begin_.begin(), by_begin_.end(), Run{begin, 0}, earlier);
    }
    if (next != by_begin_.begin() && std::prev(next)->begin + std::prev(next)->length == begin) {
      const Run run = *std::prev(next);
      begin = run.begin;
      size += run.length;
      remove(run);
    }
    if (begin + size == top_) {
      top_ = begin;
    } else {
      add({begin, size});
    }
  }

 private:
  struct Run {
    int64_t begin;
    int64_t length;
  };

  static bool earlier(const Run& a, const Run& b) { return a.begin < b.begin; }
  static bool smaller(const Run& a, const Run& b) {
    return a.length != b.length ? a.length < b.length : a.begin < b.begin;
  }
  static int64_t aligned(int64_t offset, int64_t alignment, int64_t residue) {
    return align_up(std::max<int64_t>(offset - residue, 0), alignment) + residue;
  }

  void add(const Run& run) {
    if (run.length == 0) return;
    by_begin_.insert(std::lower_bound(by_begin_.begin(), by_begin_.end(), run, earlier), run);
    by_size_.insert(std::lower_bound(by_size_.begin(), by_size_.end(), run, smaller), run);
  }
  void remove(const Run& run) {
    by_begin_.erase(std::lower_bound(by_begin_.begin(), by_begin_.end(), run, earlier));
    by_size_.erase(std::lower_bound(by_size_.begin(), by_size_.end(), run, smaller));
  }

  std::vector<Run> by_begin_;
  std::vector<Run> by_size_;
  int64_t top_ = 0;  // everything from here on is free
};

/// The bodies in runs of one section each: those of section s are ids[begin[s], begin[s + 1]).
struct BySection {
  std::vector<int32_t> begin;
  std::vector<int32_t> ids;

  BySection(const Layout& layout, int32_t Piece::*section) : begin(static_cast<size_t>(layout.sections) + 2, 0) {
    for (const Piece& piece : layout.pieces) ++begin[static_cast<size_t>(piece.*section) + 1];
    for (size_t s = 1; s < begin.size(); ++s) begin[s] += begin[s - 1];
    std::vector<int32_t> next = begin;
    ids.resize(layout.pieces.size());
    for (size_t p = 0; p < ids.size(); ++p) {
      ids[static_cast<size_t>(next[static_cast<size_t>(layout.pieces[p].*section)]++)] = static_cast<int32_t>(p);
    }
  }
};

void sweep_boxes(const Layout& layout, Placement* placement) {
  placement->positions.assign(layout.bodies.size(), 0);
  placement->height = 0;
  BySection births(layout, &Piece::lower);
  const BySection deaths(layout, &Piece::upper);
  FreeRuns free;
  const auto piece_of = [&](int32_t id) -> const Piece& { return layout.pieces[static_cast<size_t>(id)]; };
  for (size_t s = 0; s < static_cast<size_t>(layout.sections); ++s) {
    for (int32_t k = deaths.begin[s]; k < deaths.begin[s + 1]; ++k) {
      const int32_t id = deaths.ids[static_cast<size_t>(k)];
      free.give_back(placement->positions[static_cast<size_t>(id)] + piece_of(id).shift, piece_of(id).size);
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
      const Body& body = layout.bodies[static_cast<size_t>(*it)];
      const Piece& piece = piece_of(*it);
      const int64_t offset = free.take(piece.size, body.alignment, body.lowest + piece.shift);
      placement->positions[static_cast<size_t>(*it)] = offset - piece.shift;
      placement->height = std::max(placement->height, offset + piece.size);
    }
  }
}

}  // namespace

void place_by_sweep(const Layout& layout, Placement* placement) {
  if (layout.rectangular()) {
    sweep_boxes(layout, placement);
    return;
  }
  sweep_boxes(boxed(layout), placement);
  placement->height = height_of(layout, placement->positions);
}

Expected<Plan> plan_sweep(const Problem& problem) {
  BERTH_TRY(check(problem));
  for (const Storage& storage : problem.storages) {
    if (storage.fixed != kAnywhere) return Failure{Error::kNotSupported, "", "the sweep takes no fixed offsets"};
  }
  return plan_each_space(problem, place_by_sweep);
}

}  // namespace berth::plan
