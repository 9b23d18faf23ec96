#include "compiler/plan/validate.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/math.h"

namespace berth::plan {
namespace {

Failure fault(size_t storage, std::string message) {
  return Failure{Error::kInternal, "storage " + std::to_string(storage), std::move(message)};
}

std::string range(int64_t begin, int64_t end) { return "[" + std::to_string(begin) + ", " + std::to_string(end) + ")"; }

/// Each storage by itself.
Status validate_places(const Problem& problem, const Plan& plan) {
  std::vector<int64_t> heights(problem.spaces.size(), 0);
  for (size_t i = 0; i < problem.storages.size(); ++i) {
    const Storage& storage = problem.storages[i];
    const int64_t offset = plan.offsets[i];
    int64_t end = 0;
    if (storage.space < 0 || static_cast<size_t>(storage.space) >= heights.size()) {
      return fault(i, "its space does not exist");
    }
    if (offset < 0 || storage.size < 0 || !checked_add(offset, storage.size, &end)) {
      return fault(i, "its offset " + std::to_string(offset) + " or its size is negative or overflows");
    }
    if (storage.alignment < 1 || offset % storage.alignment != 0) {
      return fault(i, "its offset " + std::to_string(offset) + " is no multiple of its alignment " +
                          std::to_string(storage.alignment));
    }
    if (storage.fixed != kAnywhere && offset != storage.fixed) {
      return fault(i, "it lies at " + std::to_string(offset) + " but is fixed at " + std::to_string(storage.fixed));
    }
    if (storage.size > 0) {
      int64_t& height = heights[static_cast<size_t>(storage.space)];
      height = std::max(height, end);
    }
  }
  for (size_t s = 0; s < heights.size(); ++s) {
    const std::string place = "space " + std::to_string(s);
    if (plan.spaces[s].height != heights[s]) {
      return Failure{Error::kInternal, place,
                     "its storages take " + std::to_string(heights[s]) + " bytes but the plan says " +
                         std::to_string(plan.spaces[s].height)};
    }
    if (heights[s] > problem.spaces[s].capacity) {
      return Failure{Error::kInternal, place,
                     "its storages take " + std::to_string(heights[s]) + " bytes, over its capacity of " +
                         std::to_string(problem.spaces[s].capacity)};
    }
  }
  return Done{};
}

struct Event {
  int64_t time;
  bool birth;
  size_t storage;
};

/// Storages against each other.
class OverlapSweep {
 public:
  OverlapSweep(const Problem& problem, const Plan& plan) : problem_(problem), plan_(plan) {
    alive_.resize(problem.spaces.size());
  }

  Status run() {
    std::vector<Event> events;
    for (size_t i = 0; i < problem_.storages.size(); ++i) {
      const Storage& storage = problem_.storages[i];
      if (storage.size == 0 || storage.lower >= storage.upper) continue;
      events.push_back({storage.lower, true, i});
      events.push_back({storage.upper, false, i});
    }
    std::sort(events.begin(), events.end(),
              [](const Event& a, const Event& b) { return a.time != b.time ? a.time < b.time : a.birth < b.birth; });
    for (const Event& event : events) {
      std::map<int64_t, size_t>& alive = alive_[static_cast<size_t>(problem_.storages[event.storage].space)];
      if (!event.birth) {
        alive.erase(plan_.offsets[event.storage]);
        continue;
      }
      const auto above = alive.lower_bound(plan_.offsets[event.storage]);
      if (above != alive.end()) BERTH_TRY(compare(above->second, event.storage));
      if (above != alive.begin()) BERTH_TRY(compare(std::prev(above)->second, event.storage));
      alive.emplace(plan_.offsets[event.storage], event.storage);
    }
    return Done{};
  }

 private:
  int64_t end(size_t storage) const { return plan_.offsets[storage] + problem_.storages[storage].size; }

  /// `old` is alive when `young` is born.
  Status compare(size_t old, size_t young) const {
    if (plan_.offsets[old] >= end(young) || plan_.offsets[young] >= end(old)) return Done{};
    return fault(young, "its bytes " + range(plan_.offsets[young], end(young)) + " overlap the bytes " +
                            range(plan_.offsets[old], end(old)) + " of storage " + std::to_string(old) +
                            ": both are alive in step " + std::to_string(problem_.storages[young].lower));
  }

  const Problem& problem_;
  const Plan& plan_;
  std::vector<std::map<int64_t, size_t>> alive_;  // for each space: offset → storage
};

}  // namespace

Status validate(const Problem& problem, const Plan& plan) {
  if (plan.offsets.size() != problem.storages.size() || plan.spaces.size() != problem.spaces.size()) {
    return Failure{Error::kInternal, "plan", "it has another number of storages or spaces than the problem"};
  }
  BERTH_TRY(validate_places(problem, plan));
  return OverlapSweep(problem, plan).run();
}

}  // namespace berth::plan
