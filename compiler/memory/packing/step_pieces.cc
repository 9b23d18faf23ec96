#include "compiler/memory/packing/step_pieces.h"

#include <algorithm>
#include <tuple>

#include "compiler/memory/packing/interval_index.h"

namespace berth::packing {
namespace {

/// Joins pieces of the same bytes whose lives meet. Sorts.
void join_successors(std::vector<StepPiece>* all) {
  std::sort(all->begin(), all->end(), [](const StepPiece& a, const StepPiece& b) {
    return std::tie(a.shift, a.size, a.lower, a.upper) < std::tie(b.shift, b.size, b.lower, b.upper);
  });
  size_t kept = 0;
  for (size_t i = 1; i < all->size(); ++i) {
    StepPiece& last = (*all)[kept];
    const StepPiece& next = (*all)[i];
    if (next.shift == last.shift && next.size == last.size && next.lower <= last.upper) {
      last.upper = std::max(last.upper, next.upper);
    } else {
      (*all)[++kept] = next;
    }
  }
  all->resize(kept + 1);
}

/// Cuts from each piece the steps in which a larger one holds its bytes.
void cut_what_is_inside(std::vector<StepPiece>* all) {
  std::sort(all->begin(), all->end(), [](const StepPiece& a, const StepPiece& b) {
    return std::tie(b.size, a.shift, a.lower, a.upper) < std::tie(a.size, b.shift, b.lower, b.upper);
  });
  std::vector<StepPiece> kept;
  std::vector<StepPiece> rest;
  IntervalIndex bytes;
  for (const StepPiece& whole : *all) {
    rest.assign(1, whole);
    // What holds all of its bytes holds the first, and has been kept before, as the largest come first.
    bytes.for_each(whole.shift, whole.shift + 1, [&](int32_t k) {
      const StepPiece& outer = kept[k];
      if (outer.shift + outer.size < whole.shift + whole.size) return;
      std::vector<StepPiece> left;
      for (const StepPiece& part : rest) {
        StepPiece before = part;
        StepPiece after = part;
        before.upper = std::min(part.upper, outer.lower);
        after.lower = std::max(part.lower, outer.upper);
        if (before.lower < before.upper) left.push_back(before);
        if (after.lower < after.upper) left.push_back(after);
      }
      rest.swap(left);
    });
    for (const StepPiece& part : rest) {
      bytes.add(part.shift, part.size, static_cast<int32_t>(kept.size()));
      kept.push_back(part);
    }
  }
  all->swap(kept);
}

}  // namespace

std::vector<StepPiece> union_of(std::vector<StepPiece> all) {
  join_successors(&all);
  cut_what_is_inside(&all);
  join_successors(&all);
  return all;
}

}  // namespace berth::packing
