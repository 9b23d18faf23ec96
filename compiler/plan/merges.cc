#include "compiler/plan/merges.h"

#include <algorithm>
#include <map>

namespace berth::plan {

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

MergeSet::MergeSet(const Problem& problem) : problem_(problem), taken_(problem.merges.size(), false) {
  members_.resize(problem.storages.size());
  bodies_.resize(problem.storages.size());
  merges_of_.resize(problem.storages.size());
  for (size_t i = 0; i < members_.size(); ++i) {
    members_[i].body = static_cast<int32_t>(i);
    bodies_[i].push_back(static_cast<int32_t>(i));
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
  for (const int32_t id : unit) taken_[static_cast<size_t>(id)] = true;
  bool fits = true;
  for (const int32_t id : unit) fits = fits && tie(problem_.merges[static_cast<size_t>(id)], unit.size() == 1);
  for (const int32_t body : bodies_of(unit)) {
    BodyPlace place;
    fits = fits && (unit.size() == 1 || !any_collide(body)) && place_of(body, &place);
  }
  if (fits) return true;
  undo();
  for (const int32_t id : unit) taken_[static_cast<size_t>(id)] = false;
  return false;
}

std::vector<int32_t> MergeSet::bodies_of(const MergeUnit& unit) const {
  std::vector<int32_t> bodies;
  for (const int32_t id : unit) bodies.push_back(member(problem_.merges[static_cast<size_t>(id)].from).body);
  std::sort(bodies.begin(), bodies.end());
  bodies.erase(std::unique(bodies.begin(), bodies.end()), bodies.end());
  return bodies;
}

bool MergeSet::tie(const Merge& merge, bool compare) {
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
  log_.push_back({kept, gone, kept_size, moved_by});
  if (!compare) return true;
  for (const int32_t storage : move) {
    for (size_t k = 0; k < kept_size; ++k) {
      if (collide(storage, stay[k])) return false;
    }
  }
  return true;
}

bool MergeSet::any_collide(int32_t body) const {
  std::vector<int32_t> by_shift = storages_of(body);
  std::sort(by_shift.begin(), by_shift.end(), [&](int32_t a, int32_t b) { return member(a).shift < member(b).shift; });
  const auto end_of = [&](int32_t storage) {
    return member(storage).shift + problem_.storages[static_cast<size_t>(storage)].size;
  };
  std::vector<int32_t> reach;  // those seen that end above what is looked at
  for (const int32_t storage : by_shift) {
    const int64_t begin = member(storage).shift;
    const auto ends = [&](int32_t other) { return end_of(other) <= begin; };
    reach.erase(std::remove_if(reach.begin(), reach.end(), ends), reach.end());
    for (const int32_t other : reach) {
      if (collide(storage, other)) return true;
    }
    reach.push_back(storage);
  }
  return false;
}

void MergeSet::undo() {
  for (; !log_.empty(); log_.pop_back()) {
    const Joined& joined = log_.back();
    for (const int32_t storage : bodies_[static_cast<size_t>(joined.gone)]) {
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
  const int64_t own = problem_.storages[static_cast<size_t>(storage)].alignment;
  int64_t moved = 0;
  for (const int32_t id : merges_of_[static_cast<size_t>(storage)]) {
    const Merge& merge = problem_.merges[static_cast<size_t>(id)];
    if (!taken_[static_cast<size_t>(id)] || merge.from != storage) continue;
    moved = std::max(moved, merge.alignment > 0 ? merge.alignment : own);
  }
  return moved > 0 ? moved : own;
}

bool MergeSet::place_of(int32_t body, BodyPlace* place) const {
  const std::vector<int32_t>& storages = storages_of(body);
  *place = BodyPlace{};
  int64_t fixed_body = kAnywhere;
  bool any_fixed = false;
  int64_t least_shift = 0;
  place->alignment = 0;
  for (const int32_t storage : storages) {
    const int64_t shift = member(storage).shift;
    least_shift = std::min(least_shift, shift);
    if (alignment_of(storage) > place->alignment) {
      place->alignment = alignment_of(storage);
      place->shift = shift;
    }
    const int64_t fixed = problem_.storages[static_cast<size_t>(storage)].fixed;
    if (fixed == kAnywhere) continue;
    if (any_fixed && fixed - shift != fixed_body) return false;
    any_fixed = true;
    fixed_body = fixed - shift;
  }
  for (const int32_t storage : storages) {
    if ((member(storage).shift - place->shift) % alignment_of(storage) != 0) return false;
  }
  place->lowest = place->shift - least_shift;
  if (any_fixed) place->fixed = fixed_body + place->shift;
  return !any_fixed || (place->fixed >= place->lowest && place->fixed % place->alignment == 0);
}

}  // namespace berth::plan
