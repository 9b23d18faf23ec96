#include "compiler/plan/bound.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/math.h"
#include "compiler/plan/load.h"
#include "compiler/plan/spaces.h"

namespace berth::plan {
namespace {

struct Event {
  int64_t time;
  bool begins;
  bool is_merge;
  size_t id;
};

/// The smallest of all alignments: every offset is a multiple of it.
int64_t grain_of(const Problem& problem) {
  int64_t grain = kMaxAlignment;
  for (const Storage& storage : problem.storages) grain = std::min(grain, storage.alignment);
  for (const Merge& merge : problem.merges) {
    if (merge.alignment > 0) grain = std::min(grain, merge.alignment);
  }
  return grain;
}

/// What is alive, step after step, counted in cells of `grain` bytes.
class Sweep {
 public:
  Sweep(const Problem& problem, int64_t grain) : problem_(problem), grain_(grain) {
    saved_at_.assign(problem.storages.size(), 0);
    choose_hubs();
  }

  int64_t largest() {
    std::vector<Event> events;
    for (size_t i = 0; i < problem_.storages.size(); ++i) {
      const Storage& storage = problem_.storages[i];
      if (storage.size > 0) add_events(storage.lower, storage.upper, false, i, &events);
    }
    for (size_t i = 0; i < problem_.merges.size(); ++i) {
      const auto [lower, upper] = common_life(problem_.merges[i]);
      if (lower < upper) add_events(lower, upper, true, i, &events);
    }
    std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.time < b.time; });
    int64_t bound = 0;
    for (size_t i = 0; i < events.size(); ++i) {
      apply(events[i]);
      const bool whole = i + 1 == events.size() || events[i + 1].time != events[i].time;
      // The largest rounding is the topmost storage's at best, so this is never below the sum of the true sizes.
      if (whole && !roundings_.empty()) bound = std::max(bound, live_ - saved_ - roundings_.rbegin()->first);
    }
    return bound;
  }

 private:
  static void add_events(int64_t lower, int64_t upper, bool is_merge, size_t id, std::vector<Event>* events) {
    events->push_back({lower, true, is_merge, id});
    events->push_back({upper, false, is_merge, id});
  }

  const Storage& storage(int32_t id) const { return problem_.storages[static_cast<size_t>(id)]; }
  int64_t rounded(int64_t bytes) const { return align_up(bytes, grain_); }

  std::pair<int64_t, int64_t> common_life(const Merge& merge) const {
    const Storage& from = storage(merge.from);
    const Storage& to = storage(merge.to);
    return {std::max(from.lower, to.lower), std::min(from.upper, to.upper)};
  }

  int64_t overlap(const Merge& merge) const {
    return std::max<int64_t>(0, std::min(storage(merge.from).size, storage(merge.to).size - merge.offset));
  }

  /// The hub of a merge: which of its storages meets the more merges in the step in which this one begins to count.
  /// Whatever the hubs, each byte that k storages share is counted at k - 1 hubs at least.
  void choose_hubs() {
    std::map<std::pair<int32_t, int64_t>, int32_t> meetings;
    for (const Merge& merge : problem_.merges) {
      const int64_t begin = common_life(merge).first;
      ++meetings[{merge.from, begin}];
      ++meetings[{merge.to, begin}];
    }
    for (const Merge& merge : problem_.merges) {
      const int64_t begin = common_life(merge).first;
      const bool from = meetings[{merge.from, begin}] > meetings[{merge.to, begin}];
      hubs_.push_back(static_cast<size_t>(from ? merge.from : merge.to));
    }
  }

  void apply(const Event& event) {
    const int64_t sign = event.begins ? 1 : -1;
    if (event.is_merge) {
      const size_t hub = hubs_[event.id];
      const int64_t most = rounded(problem_.storages[hub].size);
      saved_ -= std::min(most, saved_at_[hub]);
      saved_at_[hub] += sign * rounded(overlap(problem_.merges[event.id]));
      saved_ += std::min(most, saved_at_[hub]);
      return;
    }
    const int64_t size = problem_.storages[event.id].size;
    live_ += sign * rounded(size);
    int64_t& count = roundings_[rounded(size) - size];
    count += sign;
    if (count == 0) roundings_.erase(rounded(size) - size);
  }

  const Problem& problem_;
  const int64_t grain_;
  std::vector<size_t> hubs_;              // of each merge
  std::vector<int64_t> saved_at_;         // at each storage: overlaps of the live merges whose hub it is
  int64_t saved_ = 0;                     // the sum of these, each at most the hub's size
  int64_t live_ = 0;                      // rounded bytes
  std::map<int64_t, int64_t> roundings_;  // of what is alive: bytes of rounding → how many storages
};

}  // namespace

int64_t lower_bound(const Problem& problem) {
  const int64_t grain = grain_of(problem);
  int64_t bound = 0;
  bool whole = true;
  for (const Storage& storage : problem.storages) {
    if (storage.fixed != kAnywhere && storage.size > 0) bound = std::max(bound, storage.fixed + storage.size);
    whole &= storage.size % grain == 0;
  }
  if (!whole || !problem.merges.empty()) return std::max(bound, Sweep(problem, grain).largest());
  for (const int64_t load : section_loads(make_layout(problem))) bound = std::max(bound, load);
  return bound;
}

std::vector<int64_t> lower_bounds(const Problem& problem) {
  std::vector<int64_t> bounds;
  for (const SpaceProblem& part : split_spaces(problem)) bounds.push_back(lower_bound(part.problem));
  return bounds;
}

FullestStep fullest_step(const Problem& problem, int32_t space) {
  std::vector<std::pair<int64_t, int64_t>> changes;  // (step, bytes); deaths sort before births
  for (const Storage& storage : problem.storages) {
    if (storage.space != space || storage.size == 0) continue;
    changes.emplace_back(storage.lower, storage.size);
    changes.emplace_back(storage.upper, -storage.size);
  }
  std::sort(changes.begin(), changes.end());
  FullestStep fullest;
  int64_t live = 0;
  for (const auto& [step, bytes] : changes) {
    live += bytes;
    if (live <= fullest.bytes) continue;
    fullest.bytes = live;
    fullest.step = step;
  }
  for (size_t i = 0; i < problem.storages.size(); ++i) {
    const Storage& storage = problem.storages[i];
    if (storage.space != space || storage.size == 0) continue;
    if (storage.lower <= fullest.step && fullest.step < storage.upper)
      fullest.storages.push_back(static_cast<int32_t>(i));
  }
  std::stable_sort(fullest.storages.begin(), fullest.storages.end(), [&](int32_t a, int32_t b) {
    return problem.storages[static_cast<size_t>(a)].size > problem.storages[static_cast<size_t>(b)].size;
  });
  return fullest;
}

}  // namespace berth::plan
