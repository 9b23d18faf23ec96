#include "compiler/plan/load.h"

#include <algorithm>
#include <limits>

namespace berth::plan {
namespace {

/// Answers for the largest of values[begin, end). A table of the largest of each run of 2^k values.
class RangeMax {
 public:
  explicit RangeMax(std::vector<int64_t> values) : levels_{std::move(values)} {
    for (size_t run = 1; 2 * run <= levels_[0].size(); run *= 2) {
      const std::vector<int64_t>& below = levels_.back();
      std::vector<int64_t> level(below.size() - run);
      for (size_t i = 0; i < level.size(); ++i) level[i] = std::max(below[i], below[i + run]);
      levels_.push_back(std::move(level));
    }
  }

  /// REQUIRES: begin < end <= the number of values.
  int64_t largest(size_t begin, size_t end) const {
    size_t level = 0;
    while ((size_t{2} << level) <= end - begin) ++level;
    return std::max(levels_[level][begin], levels_[level][end - (size_t{1} << level)]);
  }

 private:
  std::vector<std::vector<int64_t>> levels_;
};

void load_touched_in(const Problem& problem, int32_t space, std::vector<int64_t>* touched) {
  std::vector<int64_t> times;  // at which something is born: only there the load grows
  for (const Storage& storage : problem.storages) {
    if (storage.space == space) times.push_back(storage.lower);
  }
  if (times.empty()) return;
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  const auto first_at = [&](int64_t time) {
    return static_cast<size_t>(std::lower_bound(times.begin(), times.end(), time) - times.begin());
  };
  std::vector<int64_t> loads(times.size() + 1, 0);
  for (const Storage& storage : problem.storages) {
    if (storage.space != space) continue;
    loads[first_at(storage.lower)] += storage.size;
    loads[first_at(storage.upper)] -= storage.size;
  }
  for (size_t i = 1; i < loads.size(); ++i) loads[i] += loads[i - 1];
  const RangeMax ranges(std::move(loads));
  for (size_t i = 0; i < problem.storages.size(); ++i) {
    const Storage& storage = problem.storages[i];
    if (storage.space != space) continue;
    (*touched)[i] = ranges.largest(first_at(storage.lower), first_at(storage.upper));
  }
}

/// Sizes by a time of theirs, to be asked for the bytes before a time.
class BytesBefore {
 public:
  void add(int64_t time, int64_t bytes) { entries_.emplace_back(time, bytes); }
  void finish() {
    std::sort(entries_.begin(), entries_.end());
    for (size_t i = 1; i < entries_.size(); ++i) entries_[i].second += entries_[i - 1].second;
  }
  /// Bytes of the entries with a smaller time.
  int64_t before(int64_t time) const {
    const auto end =
        std::lower_bound(entries_.begin(), entries_.end(), std::make_pair(time, std::numeric_limits<int64_t>::min()));
    return end == entries_.begin() ? 0 : std::prev(end)->second;
  }

 private:
  std::vector<std::pair<int64_t, int64_t>> entries_;
};

}  // namespace

std::vector<int64_t> neighbour_bytes(const Problem& problem) {
  BytesBefore births;
  BytesBefore deaths;
  for (const Storage& storage : problem.storages) {
    births.add(storage.lower, storage.size);
    deaths.add(storage.upper - 1, storage.size);  // its last step
  }
  births.finish();
  deaths.finish();
  std::vector<int64_t> bytes;
  for (const Storage& storage : problem.storages) {
    bytes.push_back(births.before(storage.upper) - deaths.before(storage.lower));
  }
  return bytes;
}

std::vector<int64_t> load_touched(const Problem& problem) {
  std::vector<int64_t> touched(problem.storages.size(), 0);
  for (size_t space = 0; space < problem.spaces.size(); ++space) {
    load_touched_in(problem, static_cast<int32_t>(space), &touched);
  }
  return touched;
}

}  // namespace berth::plan
