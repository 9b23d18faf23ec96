#include "compiler/memory/scheduling/beam.h"

#include <algorithm>
#include <tuple>

#include "compiler/memory/scheduling/task_hash.h"

namespace berth::scheduling {
namespace {

/// Nanoseconds, more or less, for the deadline: of a task in an order that is kept.
constexpr int64_t kTaskCost = 20;

struct Entry {
  Walk walk;
  std::vector<uint8_t> done;
  int64_t peak;
  uint64_t hash;  // of the set of tasks that are done
  int32_t trace;
};

struct Candidate {
  int64_t peak;
  int64_t live;
  uint64_t hash;
  int32_t entry;
  int32_t task;
  friend bool operator<(const Candidate& a, const Candidate& b) {
    return std::tie(a.peak, a.live, a.hash, a.entry, a.task) < std::tie(b.peak, b.live, b.hash, b.entry, b.task);
  }
};

struct Link {
  int32_t parent;
  int32_t task;
};

std::vector<int32_t> follow(const std::vector<Link>& links, int32_t last) {
  std::vector<int32_t> order;
  for (int32_t i = last; i >= 0; i = links[i].parent) order.push_back(links[i].task);
  std::reverse(order.begin(), order.end());
  return order;
}

void add_candidates(const Stretch& stretch, const Entry& entry, int32_t index, int64_t below,
                    std::vector<Candidate>* out) {
  for (int32_t task = 0; task < stretch.size(); ++task) {
    if (entry.done[task] != 0 || !entry.walk.ready(task)) continue;
    const int64_t peak = std::max(entry.peak, entry.walk.during(task));
    if (peak < below) out->push_back({peak, entry.walk.after(task), entry.hash ^ hash_of(task), index, task});
  }
}

}  // namespace

std::vector<int32_t> search_beam(const Stretch& stretch, int64_t below, int32_t width, Deadline* deadline) {
  std::vector<Entry> beam = {{Walk(stretch), std::vector<uint8_t>(stretch.size()), stretch.start, 0, -1}};
  std::vector<Link> links;
  std::vector<Candidate> candidates;
  for (int32_t step = 0; step < stretch.size(); ++step) {
    candidates.clear();
    for (size_t i = 0; i < beam.size(); ++i) {
      add_candidates(stretch, beam[i], static_cast<int32_t>(i), below, &candidates);
    }
    if (candidates.empty()) return {};
    if (deadline->passed_after(kTaskCost * static_cast<int64_t>(beam.size()) * stretch.size())) return {};
    std::sort(candidates.begin(), candidates.end());
    std::vector<Entry> next;
    for (size_t i = 0; i < candidates.size() && next.size() < static_cast<size_t>(width); ++i) {
      const Candidate& c = candidates[i];
      // Sets of tasks that were reached twice have equal bytes alive; the first has the lower peak.
      if (i > 0 && candidates[i - 1].hash == c.hash) continue;
      next.push_back(beam[c.entry]);
      Entry& entry = next.back();
      entry.walk.run(c.task);
      entry.done[c.task] = 1;
      entry.peak = c.peak;
      entry.hash = c.hash;
      links.push_back({beam[c.entry].trace, c.task});
      entry.trace = static_cast<int32_t>(links.size()) - 1;
    }
    beam = std::move(next);
  }
  return follow(links, beam.empty() ? -1 : beam[0].trace);
}

}  // namespace berth::scheduling
