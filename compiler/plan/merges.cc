#include "compiler/plan/merges.h"

#include <algorithm>
#include <limits>
#include <map>

namespace berth::plan {
namespace {

/// Smaller bodies are compared pair by pair.
constexpr size_t kFewMembers = 16;

}  // namespace

std::vector<MergeUnit> merge_units(const Problem& problem) {
  std::vector<MergeUnit> units;
  std::map<int32_t, size_t> unit_of_group;
  for (size_t i = 0; i < problem.merges.size(); ++i) {
    const int32_t group = problem.merges[i].all_or_none;
    const auto [it, is_new] = unit_of_group.emplace(group, units.size());
    if (group == kAlone || is_new) {
      units.push_back({static_cast<int32_t>(i)});
    } else {
      units[it->second].push_back(static_cast<int32_t>(i));
    }
  }
  return units;
}

MergeSet::MergeSet(const Problem& problem)
    : problem_(problem), taken_(problem.merges.size(), false), moved_alignments_(problem.storages.size(), 0) {
  members_.resize(problem.storages.size());
  bodies_.resize(problem.storages.size());
  merges_of_.resize(problem.storages.size());
  for (size_t i = 0; i < members_.size(); ++i) {
    members_[i].body = static_cast<int32_t>(i);
    bodies_[i].push_back(static_cast<int32_t>(i));
    frames_.push_back(frame_of_storage(static_cast<int32_t>(i)));
  }
  for (size_t i = 0; i < problem.merges.size(); ++i) {
    merges_of_[static_cast<size_t>(problem.merges[i].from)].push_back(static_cast<int32_t>(i));
    merges_of_[static_cast<size_t>(problem.merges[i].to)].push_back(static_cast<int32_t>(i));
  }
}

bool MergeSet::take(const MergeUnit& unit) {
  for (const int32_t id : unit) {
    if (taken_[static_cast<size_t>(id)]) return false;
  }
  log_.clear();
  std::vector<std::pair<int32_t, int64_t>> alignments;  // before
  std::vector<int32_t> changed;                         // bodies, of which the frame is another
  for (const int32_t id : unit) {
    const Merge& merge = problem_.merges[static_cast<size_t>(id)];
    int64_t& moved = moved_alignments_[static_cast<size_t>(merge.from)];
    const int64_t own = problem_.storages[static_cast<size_t>(merge.from)].alignment;
    const int64_t before = alignment_of(merge.from);
    alignments.emplace_back(merge.from, moved);
    taken_[static_cast<size_t>(id)] = true;
    moved = std::max(moved, merge.alignment > 0 ? merge.alignment : own);
    if (alignment_of(merge.from) != before) changed.push_back(member(merge.from).body);
  }
  frame_again(&changed);
  bool fits = true;
  for (const int32_t id : unit) fits = fits && tie(problem_.merges[static_cast<size_t>(id)]);
  for (const int32_t body : bodies_of(unit)) {
    BodyPlace place;
    fits = fits && to_place(frames_[static_cast<size_t>(body)], &place);
  }
  if (fits) return true;
  undo();
  for (const int32_t id : unit) taken_[static_cast<size_t>(id)] = false;
  for (; !alignments.empty(); alignments.pop_back()) {
    moved_alignments_[static_cast<size_t>(alignments.back().first)] = alignments.back().second;
  }
  frame_again(&changed);
  return false;
}

/// Of each of these bodies once: a unit may change many storages of one.
void MergeSet::frame_again(std::vector<int32_t>* bodies) {
  std::sort(bodies->begin(), bodies->end());
  bodies->erase(std::unique(bodies->begin(), bodies->end()), bodies->end());
  for (const int32_t body : *bodies) frames_[static_cast<size_t>(body)] = frame_of(body);
}

std::vector<int32_t> MergeSet::bodies_of(const MergeUnit& unit) const {
  std::vector<int32_t> bodies;
  for (const int32_t id : unit) bodies.push_back(member(problem_.merges[static_cast<size_t>(id)].from).body);
  std::sort(bodies.begin(), bodies.end());
  bodies.erase(std::unique(bodies.begin(), bodies.end()), bodies.end());
  return bodies;
}

bool MergeSet::tie(const Merge& merge) {
  const Member from = member(merge.from);
  const Member to = member(merge.to);
  if (from.body == to.body) return from.shift == to.shift + merge.offset;
  // All of the smaller body move into the larger.
  const bool keep_to = storages_of(to.body).size() >= storages_of(from.body).size();
  const int32_t kept = keep_to ? to.body : from.body;
  const int32_t gone = keep_to ? from.body : to.body;
  const int64_t distance = to.shift + merge.offset - from.shift;  // from's body beginning, seen from to's
  std::vector<int32_t>& stay = bodies_[static_cast<size_t>(kept)];
  std::vector<int32_t>& move = bodies_[static_cast<size_t>(gone)];
  const size_t kept_size = stay.size();
  const int64_t moved_by = keep_to ? distance : -distance;
  for (const int32_t storage : move) {
    members_[static_cast<size_t>(storage)].body = kept;
    members_[static_cast<size_t>(storage)].shift += moved_by;
    stay.push_back(storage);
  }
  Frame& frame = frames_[static_cast<size_t>(kept)];
  log_.push_back({kept, gone, kept_size, moved_by, frame});
  frame = joined(frame, frames_[static_cast<size_t>(gone)], moved_by);
  const bool fits = !any_collide_with(move, kept, kept_size);
  if (indices_.count(kept) != 0) add_to_index(kept, kept_size);
  return fits;
}

BodyIndex::Box MergeSet::box_of(int32_t storage) const {
  const Storage& s = problem_.storages[static_cast<size_t>(storage)];
  int64_t life = 0;
  if (__builtin_sub_overflow(s.upper, s.lower, &life)) life = std::numeric_limits<int64_t>::max();
  return {member(storage).shift, s.size, s.lower, life};
}

/// The members of `body` from the given one on.
void MergeSet::add_to_index(int32_t body, size_t from) {
  BodyIndex& index = indices_[body];
  const std::vector<int32_t>& storages = storages_of(body);
  for (size_t k = from; k < storages.size(); ++k) index.add(box_of(storages[k]), storages[k]);
}

bool MergeSet::any_collide_with(const std::vector<int32_t>& move, int32_t kept, size_t kept_size) {
  const std::vector<int32_t>& stay = storages_of(kept);
  const auto indexed = indices_.find(kept);
  for (const int32_t storage : move) {
    const auto wrong = [&](int32_t other) { return collide(storage, other); };
    if (indexed != indices_.end() && indexed->second.any(box_of(storage), wrong)) return true;
    if (indexed != indices_.end()) continue;
    if (std::any_of(stay.begin(), stay.begin() + static_cast<std::ptrdiff_t>(kept_size), wrong)) return true;
  }
  if (indexed == indices_.end() && kept_size >= kFewMembers) {
    indices_.emplace(kept, BodyIndex());
    for (size_t k = 0; k < kept_size; ++k) indices_[kept].add(box_of(stay[k]), stay[k]);
  }
  return false;
}

void MergeSet::undo() {
  for (; !log_.empty(); log_.pop_back()) {
    const Joined& joined = log_.back();
    const auto indexed = indices_.find(joined.kept);
    frames_[static_cast<size_t>(joined.kept)] = joined.kept_frame;
    for (const int32_t storage : bodies_[static_cast<size_t>(joined.gone)]) {
      if (indexed != indices_.end()) indexed->second.remove(box_of(storage), storage);
      members_[static_cast<size_t>(storage)].body = joined.gone;
      members_[static_cast<size_t>(storage)].shift -= joined.moved_by;
    }
    bodies_[static_cast<size_t>(joined.kept)].resize(joined.kept_size);
  }
}

bool MergeSet::collide(int32_t a, int32_t b) const {
  const Storage& x = problem_.storages[static_cast<size_t>(a)];
  const Storage& y = problem_.storages[static_cast<size_t>(b)];
  if (x.upper <= y.lower || y.upper <= x.lower || x.size == 0 || y.size == 0) return false;
  const int64_t at_x = member(a).shift;
  const int64_t at_y = member(b).shift;
  return at_x < at_y + y.size && at_y < at_x + x.size && !excused(a, b);
}

bool MergeSet::excused(int32_t a, int32_t b) const {
  const bool fewer = merges_of_[static_cast<size_t>(a)].size() <= merges_of_[static_cast<size_t>(b)].size();
  const int32_t other = fewer ? b : a;
  for (const int32_t id : merges_of_[static_cast<size_t>(fewer ? a : b)]) {
    const Merge& merge = problem_.merges[static_cast<size_t>(id)];
    if (taken_[static_cast<size_t>(id)] && (merge.from == other || merge.to == other)) return true;
  }
  return false;
}

int64_t MergeSet::alignment_of(int32_t storage) const {
  const int64_t moved = moved_alignments_[static_cast<size_t>(storage)];
  return moved > 0 ? moved : problem_.storages[static_cast<size_t>(storage)].alignment;
}

MergeSet::Frame MergeSet::frame_of_storage(int32_t storage) const {
  Frame frame;
  frame.alignment = alignment_of(storage);
  frame.shift = member(storage).shift;
  frame.least_shift = std::min<int64_t>(0, frame.shift);
  const int64_t fixed = problem_.storages[static_cast<size_t>(storage)].fixed;
  frame.any_fixed = fixed != kAnywhere;
  frame.fixed = frame.any_fixed ? fixed - frame.shift : 0;
  return frame;
}

/// Alignments are powers of two: members of a body agree when those with the largest one do.
MergeSet::Frame MergeSet::joined(const Frame& a, const Frame& b, int64_t b_moved_by) {
  Frame frame = a;
  const int64_t shift = b.shift + b_moved_by;
  const int64_t fixed = b.fixed - b_moved_by;
  frame.possible = a.possible && b.possible && (shift - a.shift) % std::min(a.alignment, b.alignment) == 0 &&
                   (!a.any_fixed || !b.any_fixed || a.fixed == fixed);
  frame.least_shift = std::min(a.least_shift, b.least_shift + b_moved_by);
  if (b.alignment > a.alignment) {
    frame.alignment = b.alignment;
    frame.shift = shift;
  }
  if (b.any_fixed && !a.any_fixed) {
    frame.any_fixed = true;
    frame.fixed = fixed;
  }
  return frame;
}

MergeSet::Frame MergeSet::frame_of(int32_t body) const {
  const std::vector<int32_t>& storages = storages_of(body);
  Frame frame = frame_of_storage(storages[0]);
  for (size_t k = 1; k < storages.size(); ++k) frame = joined(frame, frame_of_storage(storages[k]), 0);
  return frame;
}

bool MergeSet::to_place(const Frame& frame, BodyPlace* place) {
  if (!frame.possible) return false;
  place->alignment = frame.alignment;
  place->shift = frame.shift;
  place->lowest = frame.shift - frame.least_shift;
  place->fixed = frame.any_fixed ? frame.fixed + frame.shift : kAnywhere;
  return !frame.any_fixed || (place->fixed >= place->lowest && place->fixed % place->alignment == 0);
}

bool MergeSet::place_of(int32_t body, BodyPlace* place) const {
  return to_place(frames_[static_cast<size_t>(body)], place);
}

}  // namespace berth::plan
