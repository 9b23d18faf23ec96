#include "compiler/plan/sweep.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/math.h"
#include "compiler/plan/bound.h"

namespace berth::plan {
namespace {

/// The free bytes of one space below the highest end so far, as maximal runs.
class FreeRuns {
 public:
  int64_t take(int64_t size, int64_t alignment) {
    // Alignment may spoil a run that is large enough, but not one that is larger by it.
    for (auto it = by_size_.lower_bound({size, 0}); it != by_size_.end(); ++it) {
      const auto [length, begin] = *it;
      const int64_t offset = align_up(begin, alignment);
      if (offset + size > begin + length) continue;
      remove(begin, length);
      add(begin, offset - begin);
      add(offset + size, begin + length - offset - size);
      return offset;
    }
    return take_from_top(size, alignment);
  }

  void give_back(int64_t begin, int64_t size) {
    const auto next = by_begin_.find(begin + size);
    if (next != by_begin_.end()) {
      const int64_t length = next->second;
      remove(begin + size, length);
      size += length;
    }
    auto before = by_begin_.lower_bound(begin);
    if (before != by_begin_.begin() && std::prev(before)->first + std::prev(before)->second == begin) {
      before = std::prev(before);
      const auto [run_begin, length] = *before;
      remove(run_begin, length);
      begin = run_begin;
      size += length;
    }
    if (begin + size == top_) {
      top_ = begin;
    } else {
      add(begin, size);
    }
  }

 private:
  int64_t take_from_top(int64_t size, int64_t alignment) {
    const int64_t offset = align_up(top_, alignment);
    add(top_, offset - top_);
    top_ = offset + size;
    return offset;
  }
  void add(int64_t begin, int64_t length) {
    if (length == 0) return;
    by_begin_.emplace(begin, length);
    by_size_.emplace(length, begin);
  }
  void remove(int64_t begin, int64_t length) {
    by_begin_.erase(begin);
    by_size_.erase({length, begin});
  }

  std::map<int64_t, int64_t> by_begin_;            // begin → length
  std::set<std::pair<int64_t, int64_t>> by_size_;  // (length, begin)
  int64_t top_ = 0;                                // everything from here on is free
};

std::vector<size_t> sorted_ids(const Problem& problem, bool by_death) {
  std::vector<size_t> ids;
  for (size_t i = 0; i < problem.storages.size(); ++i) {
    if (problem.storages[i].size > 0) ids.push_back(i);
  }
  std::sort(ids.begin(), ids.end(), [&](size_t left, size_t right) {
    const Storage& a = problem.storages[left];
    const Storage& b = problem.storages[right];
    if (by_death) return a.upper != b.upper ? a.upper < b.upper : left < right;
    if (a.lower != b.lower) return a.lower < b.lower;
    if (a.size != b.size) return a.size > b.size;
    if (a.upper != b.upper) return a.upper > b.upper;
    return left < right;
  });
  return ids;
}

}  // namespace

Expected<Plan> plan_sweep(const Problem& problem) {
  BERTH_TRY(check(problem));
  for (const Storage& storage : problem.storages) {
    if (storage.fixed != kAnywhere) return Failure{Error::kNotSupported, "", "the sweep takes no fixed offsets"};
  }
  Plan plan;
  plan.offsets.resize(problem.storages.size(), 0);
  plan.spaces.resize(problem.spaces.size());
  std::vector<FreeRuns> free(problem.spaces.size());
  const std::vector<size_t> deaths = sorted_ids(problem, true);
  size_t dead = 0;
  for (const size_t id : sorted_ids(problem, false)) {
    const Storage& storage = problem.storages[id];
    for (; problem.storages[deaths[dead]].upper <= storage.lower; ++dead) {
      const Storage& gone = problem.storages[deaths[dead]];
      free[static_cast<size_t>(gone.space)].give_back(plan.offsets[deaths[dead]], gone.size);
    }
    const size_t space = static_cast<size_t>(storage.space);
    plan.offsets[id] = free[space].take(storage.size, storage.alignment);
    plan.spaces[space].height = std::max(plan.spaces[space].height, plan.offsets[id] + storage.size);
  }
  write_lower_bounds(problem, &plan);
  return plan;
}

}  // namespace berth::plan
