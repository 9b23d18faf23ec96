#include "compiler/memory/packing/step_pieces.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

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

/// Pieces, to be asked for those that hold given bytes. In classes by the logarithm of the size: of each class only
/// those are looked at that begin less than the largest size of it below.
class Holders {
 public:
  void add(const StepPiece& r, size_t id) { by_shift_[class_of(r)].emplace(r.shift, id); }

  template <typename Visit>
  void for_each(const StepPiece& r, const Visit& visit) const {
    for (size_t c = class_of(r); c < by_shift_.size(); ++c) {
      const auto end = by_shift_[c].upper_bound(r.shift);
      for (auto it = by_shift_[c].lower_bound(r.shift - (int64_t{2} << c)); it != end; ++it) visit(it->second);
    }
  }

 private:
  static size_t class_of(const StepPiece& r) {
    size_t c = 0;
    while ((r.size >> c) > 1) ++c;
    return c;
  }
  std::array<std::multimap<int64_t, size_t>, 61> by_shift_;  // sizes are at most kMaxBytes
};

/// Cuts from each piece the steps in which a larger one holds its bytes.
void cut_what_is_inside(std::vector<StepPiece>* all) {
  std::sort(all->begin(), all->end(), [](const StepPiece& a, const StepPiece& b) {
    return std::tie(b.size, a.shift, a.lower, a.upper) < std::tie(a.size, b.shift, b.lower, b.upper);
  });
  std::vector<StepPiece> kept;
  std::vector<StepPiece> rest;
  Holders holders;
  for (const StepPiece& whole : *all) {
    rest.assign(1, whole);
    holders.for_each(whole, [&](size_t k) {
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
      holders.add(part, kept.size());
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
