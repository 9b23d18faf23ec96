#include "compiler/memory/packing/bound.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/math.h"
#include "compiler/memory/packing/load.h"
#include "compiler/memory/packing/split_spaces.h"

namespace berth::packing {
namespace {

struct Event {
  int64_t time;
  bool begins;
  bool is_candidate;
  size_t id;
};

/// The smallest of all alignments: every offset is a multiple of it.
int64_t grain_of(const Problem& problem) {
  int64_t grain = kMaxAlignment;
  for (const Buffer& buffer : problem.buffers) grain = std::min(grain, buffer.alignment);
  for (const Candidate& candidate : problem.candidates) {
    if (candidate.alignment > 0) grain = std::min(grain, candidate.alignment);
  }
  return grain;
}

/// What is alive, step after step, counted in cells of `grain` bytes.
class Sweep {
 public:
  Sweep(const Problem& problem, int64_t grain) : problem_(problem), grain_(grain) {
    saved_at_.assign(problem.buffers.size(), 0);
    choose_hubs();
    find_covered();
  }

  int64_t largest() {
    std::vector<Event> events;
    for (size_t i = 0; i < problem_.buffers.size(); ++i) {
      const Buffer& buffer = problem_.buffers[i];
      if (buffer.size > 0) add_events(buffer.lower, buffer.upper, false, i, &events);
    }
    for (size_t i = 0; i < problem_.candidates.size(); ++i) {
      const auto [lower, upper] = common_life(problem_.candidates[i]);
      if (lower < upper) add_events(lower, upper, true, i, &events);
    }
    std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.time < b.time; });
    int64_t bound = 0;
    for (size_t i = 0; i < events.size(); ++i) {
      apply(events[i]);
      const bool whole = i + 1 == events.size() || events[i + 1].time != events[i].time;
      // The largest rounding is the topmost buffer's at best, so this is never below the sum of the true sizes.
      if (whole && !roundings_.empty()) bound = std::max(bound, live_ - saved_ - roundings_.rbegin()->first);
    }
    return bound;
  }

 private:
  static void add_events(int64_t lower, int64_t upper, bool is_candidate, size_t id, std::vector<Event>* events) {
    events->push_back({lower, true, is_candidate, id});
    events->push_back({upper, false, is_candidate, id});
  }

  const Buffer& buffer(int32_t id) const { return problem_.buffers[id]; }
  int64_t rounded(int64_t bytes) const { return align_up(bytes, grain_); }

  std::pair<int64_t, int64_t> common_life(const Candidate& candidate) const {
    const Buffer& from = buffer(candidate.from);
    const Buffer& to = buffer(candidate.to);
    return {std::max(from.lower, to.lower), std::min(from.upper, to.upper)};
  }

  int64_t overlap(const Candidate& candidate) const {
    return std::max<int64_t>(0, std::min(buffer(candidate.from).size, buffer(candidate.to).size - candidate.offset));
  }

  /// The hub of a candidate: which of its buffers meets the more candidates in the step in which this one begins to
  /// count. Whatever the hubs, each byte that k buffers share is counted at k - 1 hubs at least.
  void choose_hubs() {
    std::map<std::pair<int32_t, int64_t>, int32_t> meetings;
    for (const Candidate& candidate : problem_.candidates) {
      const int64_t begin = common_life(candidate).first;
      ++meetings[{candidate.from, begin}];
      ++meetings[{candidate.to, begin}];
    }
    for (const Candidate& candidate : problem_.candidates) {
      const int64_t begin = common_life(candidate).first;
      const bool from = meetings[{candidate.from, begin}] > meetings[{candidate.to, begin}];
      hubs_.push_back(from ? candidate.from : candidate.to);
    }
  }

  /// Candidates whose buffer `from` lies within `to` when they are taken, so that it is not the topmost one; and if one
  /// is not taken, its overlap, at least the rounding, is saved nowhere else.
  void find_covered() {
    std::vector<int32_t> mentions(problem_.buffers.size(), 0);
    std::vector<int64_t> inside(problem_.buffers.size(), 0);
    for (const Candidate& candidate : problem_.candidates) {
      ++mentions[candidate.from];
      inside[candidate.to] += rounded(buffer(candidate.from).size);
    }
    for (const Candidate& candidate : problem_.candidates) {
      const Buffer& to = buffer(candidate.to);
      const bool within = candidate.offset + buffer(candidate.from).size <= to.size;
      covers_.push_back(within && mentions[candidate.from] == 1 && inside[candidate.from] == 0 &&
                        mentions[candidate.to] == 0 && inside[candidate.to] <= rounded(to.size));
    }
  }

  void count_rounding(int64_t size, int64_t change) {
    int64_t& count = roundings_[rounded(size) - size];
    count += change;
    if (count == 0) roundings_.erase(rounded(size) - size);
  }

  void apply(const Event& event) {
    const int64_t sign = event.begins ? 1 : -1;
    if (event.is_candidate) {
      if (covers_[event.id]) count_rounding(buffer(problem_.candidates[event.id].from).size, -sign);
      const size_t hub = hubs_[event.id];
      const int64_t most = rounded(problem_.buffers[hub].size);
      saved_ -= std::min(most, saved_at_[hub]);
      saved_at_[hub] += sign * rounded(overlap(problem_.candidates[event.id]));
      saved_ += std::min(most, saved_at_[hub]);
      return;
    }
    const int64_t size = problem_.buffers[event.id].size;
    live_ += sign * rounded(size);
    count_rounding(size, sign);
  }

  const Problem& problem_;
  const int64_t grain_;
  std::vector<size_t> hubs_;              // of each candidate
  std::vector<bool> covers_;              // of each: find_covered()
  std::vector<int64_t> saved_at_;         // at each buffer: overlaps of the live candidates whose hub it is
  int64_t saved_ = 0;                     // the sum of these, each at most the hub's size
  int64_t live_ = 0;                      // rounded bytes
  std::map<int64_t, int64_t> roundings_;  // of what is alive: bytes of rounding → how many buffers
};

}  // namespace

int64_t lower_bound(const Problem& problem) {
  const int64_t grain = grain_of(problem);
  int64_t bound = 0;
  bool whole = true;
  for (const Buffer& buffer : problem.buffers) {
    if (buffer.fixed != kAnywhere && buffer.size > 0) bound = std::max(bound, buffer.fixed + buffer.size);
    whole &= buffer.size % grain == 0;
  }
  if (!whole || !problem.candidates.empty()) return std::max(bound, Sweep(problem, grain).largest());
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
  for (const Buffer& buffer : problem.buffers) {
    if (buffer.space != space || buffer.size == 0) continue;
    changes.emplace_back(buffer.lower, buffer.size);
    changes.emplace_back(buffer.upper, -buffer.size);
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
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& buffer = problem.buffers[i];
    if (buffer.space != space || buffer.size == 0) continue;
    if (buffer.lower <= fullest.step && fullest.step < buffer.upper) fullest.buffers.push_back(static_cast<int32_t>(i));
  }
  std::stable_sort(fullest.buffers.begin(), fullest.buffers.end(),
                   [&](int32_t a, int32_t b) { return problem.buffers[a].size > problem.buffers[b].size; });
  return fullest;
}

}  // namespace berth::packing
