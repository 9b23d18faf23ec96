#include "compiler/memory/scheduling/timing.h"

#include <algorithm>
#include <numeric>

#include "compiler/memory/scheduling/stretch.h"

namespace berth::scheduling {

int64_t TimeBounds::least() const {
  int64_t most = std::max(critical_path, host);
  for (const int64_t one : busy) most = std::max(most, one);
  return most;
}

int64_t WorkerClocks::hand_out(const TaskTime& task) {
  const bool copies = task.other >= 0;
  free_[kHost] = std::max(free_[kHost], arrived(task));
  if (copies) mark(task.other);
  int64_t begin = std::max(free_[kHost], free_[task.worker]);
  if (copies) begin = std::max(begin, free_[task.other]);
  const int64_t end = begin + std::min(task.nanoseconds, kMostNanoseconds);
  if (copies) mark(task.worker);
  free_[task.worker] = end;
  if (copies && task.holds_other) free_[task.other] = end;
  if (copies && !task.holds_other) copies_[task.worker] = {task.other, end};
  if (task.host_waits) free_[kHost] = end;
  if (task.arrival >= 0) arrivals_.push_back({task.arrival, end});
  const auto is_there = [&](const Arrival& copy) { return copy.end <= free_[kHost]; };
  arrivals_.erase(std::remove_if(arrivals_.begin(), arrivals_.end(), is_there), arrivals_.end());
  return begin;
}

// When all that it reads has arrived.
int64_t WorkerClocks::arrived(const TaskTime& task) const {
  int64_t last = 0;
  for (const Arrival& copy : arrivals_) {
    const bool reads = std::find(task.awaits.begin(), task.awaits.end(), copy.number) != task.awaits.end();
    if (reads) last = std::max(last, copy.end);
  }
  return last;
}

bool WorkerClocks::must_wait(const TaskTime& task) const { return arrived(task) > free_[kHost]; }

void WorkerClocks::mark(int32_t worker) {
  Copy& copy = copies_[worker];
  if (copy.owner >= 0) free_[copy.owner] = std::max(free_[copy.owner], copy.end);
  copy.owner = -1;
}

int64_t WorkerClocks::sum() const { return std::accumulate(free_.begin(), free_.end(), int64_t{0}); }

int64_t WorkerClocks::last() const { return *std::max_element(free_.begin(), free_.end()); }

bool WorkerClocks::are_never_later(const WorkerClocks& others) const {
  for (size_t worker = 0; worker < free_.size(); ++worker) {
    if (free_[worker] > others.free_[worker]) return false;
    const Copy& copy = copies_[worker];
    const Copy& other = others.copies_[worker];
    if (copy.owner < 0 || copy.end <= free_[copy.owner]) continue;
    if (copy.owner != other.owner || copy.end > other.end) return false;
  }
  for (const Arrival& copy : arrivals_) {
    if (copy.end <= others.free_[kHost]) continue;
    const auto is_later = [&](const Arrival& other) { return other.number == copy.number && other.end >= copy.end; };
    if (std::none_of(others.arrivals_.begin(), others.arrivals_.end(), is_later)) return false;
  }
  return true;
}

int32_t count_workers(const std::vector<TaskTime>& times) {
  int32_t last = kHost;
  for (const TaskTime& time : times) last = std::max({last, time.worker, time.other});
  return last + 1;
}

Timeline timeline_of(const std::vector<TaskTime>& times, const std::vector<int32_t>& tasks) {
  Timeline timeline;
  timeline.begin.resize(times.size());
  timeline.end.resize(times.size());
  WorkerClocks clocks(count_workers(times));
  for (const int32_t task : tasks) {
    timeline.begin[task] = clocks.hand_out(times[task]);
    timeline.end[task] = clocks.free(times[task].worker);
  }
  timeline.nanoseconds = clocks.last();
  return timeline;
}

std::vector<int64_t> chains_from(const Problem& problem, const std::vector<TaskTime>& times) {
  const TaskGraph graph(problem);
  std::vector<int64_t> chains(problem.tasks, 0);
  for (int32_t task = problem.tasks - 1; task >= 0; --task) {
    for (const int32_t next : graph.after(task)) chains[task] = std::max(chains[task], chains[next]);
    chains[task] += std::min(times[task].nanoseconds, kMostNanoseconds);
  }
  return chains;
}

TimeBounds time_bounds(const Problem& problem, const std::vector<TaskTime>& times) {
  TimeBounds bounds;
  bounds.busy.assign(count_workers(times), 0);
  for (const int64_t chain : chains_from(problem, times)) bounds.critical_path = std::max(bounds.critical_path, chain);
  for (const TaskTime& time : times) {
    const int64_t taken = std::min(time.nanoseconds, kMostNanoseconds);
    bounds.busy[time.worker] += taken;
    if (time.other >= 0 && time.holds_other) bounds.busy[time.other] += taken;
    if (time.worker == kHost || time.host_waits) bounds.host += taken;
  }
  return bounds;
}

}  // namespace berth::scheduling
