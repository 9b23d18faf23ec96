#include "compiler/memory/packing/layout.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>

namespace berth::packing {
namespace {

/// A piece that still knows its steps.
struct Rectangle {
  int64_t lower;
  int64_t upper;
  int64_t shift;
  int64_t size;
};

/// Joins rectangles of the same bytes whose lives meet. Sorts.
void join_successors(std::vector<Rectangle>* all) {
  std::sort(all->begin(), all->end(), [](const Rectangle& a, const Rectangle& b) {
    return std::tie(a.shift, a.size, a.lower, a.upper) < std::tie(b.shift, b.size, b.lower, b.upper);
  });
  size_t kept = 0;
  for (size_t i = 1; i < all->size(); ++i) {
    Rectangle& last = (*all)[kept];
    const Rectangle& next = (*all)[i];
    if (next.shift == last.shift && next.size == last.size && next.lower <= last.upper) {
      last.upper = std::max(last.upper, next.upper);
    } else {
      (*all)[++kept] = next;
    }
  }
  all->resize(kept + 1);
}

/// Rectangles, to be asked for those that hold given bytes. In classes by the logarithm of the size: of each class only
/// those are looked at that begin less than the largest size of it below.
class Holders {
 public:
  void add(const Rectangle& r, size_t id) { by_shift_[class_of(r)].emplace(r.shift, id); }

  template <typename Visit>
  void for_each(const Rectangle& r, const Visit& visit) const {
    for (size_t c = class_of(r); c < by_shift_.size(); ++c) {
      const auto end = by_shift_[c].upper_bound(r.shift);
      for (auto it = by_shift_[c].lower_bound(r.shift - (int64_t{2} << c)); it != end; ++it) visit(it->second);
    }
  }

 private:
  static size_t class_of(const Rectangle& r) {
    size_t c = 0;
    while ((r.size >> c) > 1) ++c;
    return c;
  }
  std::array<std::multimap<int64_t, size_t>, 61> by_shift_;  // sizes are at most kMaxBytes
};

/// Cuts from each rectangle the steps in which a larger one holds its bytes.
void cut_what_is_inside(std::vector<Rectangle>* all) {
  std::sort(all->begin(), all->end(), [](const Rectangle& a, const Rectangle& b) {
    return std::tie(b.size, a.shift, a.lower, a.upper) < std::tie(a.size, b.shift, b.lower, b.upper);
  });
  std::vector<Rectangle> kept;
  std::vector<Rectangle> rest;
  Holders holders;
  for (const Rectangle& whole : *all) {
    rest.assign(1, whole);
    holders.for_each(whole, [&](size_t k) {
      const Rectangle& outer = kept[k];
      if (outer.shift + outer.size < whole.shift + whole.size) return;
      std::vector<Rectangle> left;
      for (const Rectangle& part : rest) {
        Rectangle before = part;
        Rectangle after = part;
        before.upper = std::min(part.upper, outer.lower);
        after.lower = std::max(part.lower, outer.upper);
        if (before.lower < before.upper) left.push_back(before);
        if (after.lower < after.upper) left.push_back(after);
      }
      rest.swap(left);
    });
    for (const Rectangle& part : rest) {
      holders.add(part, kept.size());
      kept.push_back(part);
    }
  }
  all->swap(kept);
}

/// From steps to sections.
class Sections {
 public:
  explicit Sections(const std::vector<Rectangle>& all) {
    if (all.empty()) return;
    first_ = std::numeric_limits<int64_t>::max();
    int64_t last = std::numeric_limits<int64_t>::min();
    for (const Rectangle& r : all) {
      first_ = std::min(first_, r.lower);
      last = std::max(last, r.upper);
    }
    const uint64_t range = static_cast<uint64_t>(last) - static_cast<uint64_t>(first_);
    if (range <= 4 * all.size() + 64) {
      number_by_table(all, range);
    } else {
      number_by_sorting(all);
    }
  }

  int32_t count() const { return count_; }

  int32_t lower(const Rectangle& r) const {
    if (!table_.empty()) return table_[r.lower - first_];
    return static_cast<int32_t>(std::upper_bound(starts_.begin(), starts_.end(), r.lower) - starts_.begin()) - 1;
  }
  int32_t upper(const Rectangle& r) const {
    if (!table_.empty()) return table_[r.upper - first_ - 1] + 1;
    return static_cast<int32_t>(std::lower_bound(starts_.begin(), starts_.end(), r.upper) - starts_.begin());
  }

 private:
  void number_by_table(const std::vector<Rectangle>& all, size_t range) {
    enum : uint8_t { kBirth = 1, kDeath = 2 };
    std::vector<uint8_t> events(range + 1, 0);
    for (const Rectangle& r : all) {
      events[r.lower - first_] |= kBirth;
      events[r.upper - first_] |= kDeath;
    }
    table_.resize(range + 1);
    bool dying = true;
    for (size_t t = 0; t <= range; ++t) {
      dying |= (events[t] & kDeath) != 0;
      if (dying && (events[t] & kBirth) != 0) {
        ++count_;
        dying = false;
      }
      table_[t] = count_ - 1;
    }
  }

  void number_by_sorting(const std::vector<Rectangle>& all) {
    std::vector<int64_t> births;
    std::vector<int64_t> deaths;
    for (const Rectangle& r : all) {
      births.push_back(r.lower);
      deaths.push_back(r.upper);
    }
    std::sort(births.begin(), births.end());
    std::sort(deaths.begin(), deaths.end());
    size_t dead = 0;
    bool dying = true;
    for (const int64_t birth : births) {
      for (; deaths[dead] <= birth; ++dead) dying = true;
      if (dying) starts_.push_back(birth);
      dying = false;
    }
    count_ = static_cast<int32_t>(starts_.size());
  }

  int64_t first_ = 0;
  int32_t count_ = 0;
  std::vector<int32_t> table_;   // of each step from the first: the section that it belongs to
  std::vector<int64_t> starts_;  // without a table: the step in which each section begins
};

class LayoutMaker {
 public:
  explicit LayoutMaker(const Problem& problem) : problem_(problem) {
    layout_.body_of.assign(problem.buffers.size(), -1);
    layout_.shift_of.assign(problem.buffers.size(), 0);
    layout_.bodies.reserve(problem.buffers.size());
    rectangles_.reserve(problem.buffers.size());
  }

  void add_storage(int32_t id) {
    const Buffer& buffer = problem_.buffers[id];
    if (buffer.size == 0) return;
    rectangles_.push_back({buffer.lower, buffer.upper, 0, buffer.size});
    layout_.body_of[id] = next_body();
    Body body;
    body.begin = static_cast<int32_t>(rectangles_.size()) - 1;
    body.end = body.begin + 1;
    body.alignment = buffer.alignment;
    body.fixed = buffer.fixed;
    layout_.bodies.push_back(body);
  }

  void add_body(const ChosenAliases& candidates, int32_t number) {
    BodyPlace place;
    candidates.place_of(number, &place);
    std::vector<Rectangle> parts;
    for (const int32_t id : candidates.buffers_of(number)) {
      const Buffer& buffer = problem_.buffers[id];
      const int64_t shift = candidates.member(id).shift - place.shift;
      layout_.shift_of[id] = shift;
      if (buffer.size > 0) parts.push_back({buffer.lower, buffer.upper, shift, buffer.size});
    }
    const int64_t lowest = (place.lowest + place.alignment - 1) / place.alignment * place.alignment;
    if (parts.empty()) {
      // Nothing is to be placed, but the members lie at their distances all the same.
      const int64_t base = place.fixed != kAnywhere ? place.fixed : lowest;
      for (const int32_t id : candidates.buffers_of(number)) layout_.shift_of[id] += base;
      return;
    }
    join_successors(&parts);
    cut_what_is_inside(&parts);
    join_successors(&parts);
    for (const int32_t id : candidates.buffers_of(number)) layout_.body_of[id] = next_body();
    Body body;
    body.begin = static_cast<int32_t>(rectangles_.size());
    rectangles_.insert(rectangles_.end(), parts.begin(), parts.end());
    body.end = static_cast<int32_t>(rectangles_.size());
    body.alignment = place.alignment;
    body.fixed = place.fixed;
    body.lowest = lowest;
    layout_.bodies.push_back(body);
  }

  Layout finish() {
    const Sections sections(rectangles_);
    layout_.sections = sections.count();
    layout_.pieces.reserve(rectangles_.size());
    for (const Rectangle& r : rectangles_) {
      const uint64_t steps = static_cast<uint64_t>(r.upper) - static_cast<uint64_t>(r.lower);
      layout_.pieces.push_back({sections.lower(r), sections.upper(r), r.shift, r.size,
                                static_cast<int64_t>(std::min(steps, uint64_t{1} << 30))});
    }
    return std::move(layout_);
  }

 private:
  int32_t next_body() const { return static_cast<int32_t>(layout_.bodies.size()); }

  const Problem& problem_;
  std::vector<Rectangle> rectangles_;
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
      maker.add_storage(i);
    } else if (candidates->is_body(i)) {
      maker.add_body(*candidates, i);
    }
  }
  return maker.finish();
}

Layout boxed(const Layout& layout) {
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
