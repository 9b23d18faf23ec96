#include "compiler/plan/bound.h"

#include <algorithm>
#include <map>

#include "base/math.h"

namespace berth::plan {
namespace {

struct Event {
  int64_t time;
  bool birth;  // deaths come first at equal times
  const Storage* storage;
};

/// The bound of one space whose storages' births and deaths are `events`.
int64_t bound_of(std::vector<Event>& events) {
  int64_t grain = kMaxAlignment;
  for (const Event& event : events) grain = std::min(grain, event.storage->alignment);
  std::sort(events.begin(), events.end(),
            [](const Event& a, const Event& b) { return a.time != b.time ? a.time < b.time : a.birth < b.birth; });
  int64_t bound = 0;
  int64_t rounded_live = 0;
  std::map<int64_t, int64_t> roundings;  // of what is alive: bytes of rounding → how many storages
  for (const Event& event : events) {
    const int64_t rounded = align_up(event.storage->size, grain);
    const int64_t rounding = rounded - event.storage->size;
    if (event.birth) {
      rounded_live += rounded;
      ++roundings[rounding];
      // The largest rounding is the topmost storage's at best, so this is never below the sum of the true sizes.
      bound = std::max(bound, rounded_live - roundings.rbegin()->first);
    } else {
      rounded_live -= rounded;
      if (--roundings[rounding] == 0) roundings.erase(rounding);
    }
    if (event.storage->fixed != kAnywhere) bound = std::max(bound, event.storage->fixed + event.storage->size);
  }
  return bound;
}

}  // namespace

std::vector<int64_t> lower_bounds(const Problem& problem) {
  std::vector<std::vector<Event>> events(problem.spaces.size());
  for (const Storage& storage : problem.storages) {
    if (storage.size == 0) continue;
    std::vector<Event>& of_space = events[static_cast<size_t>(storage.space)];
    of_space.push_back({storage.lower, true, &storage});
    of_space.push_back({storage.upper, false, &storage});
  }
  std::vector<int64_t> bounds;
  bounds.reserve(events.size());
  for (std::vector<Event>& of_space : events) bounds.push_back(bound_of(of_space));
  return bounds;
}

void write_lower_bounds(const Problem& problem, Plan* plan) {
  const std::vector<int64_t> bounds = lower_bounds(problem);
  for (size_t i = 0; i < bounds.size(); ++i) plan->spaces[i].lower_bound = bounds[i];
}

}  // namespace berth::plan
