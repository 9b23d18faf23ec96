// Stretch: consecutive tasks of an order, with what runs before and after them frozen. One search works on one stretch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "compiler/memory/scheduling/problem.h"

namespace berth::scheduling {

/// A buffer within a stretch; those that are live all through it are only in Stretch::base.
struct StretchBuffer {
  int64_t bytes = 0;
  int32_t producer = -1;         // within the stretch; -1: alive at its start
  std::vector<int32_t> readers;  // within the stretch, each once, sorted
  bool kept = false;             // alive at its end
};

struct StretchTask {
  std::vector<int32_t> before;    // tasks of the stretch that run before it, each once
  std::vector<int32_t> after;     // the reverse
  std::vector<int32_t> reads;     // buffers that may die with it: read by it, not kept
  std::vector<int32_t> makes;     // buffers that it produces
  std::vector<InPlace> in_place;  // into what it makes, in buffers of the stretch
};

struct Stretch {
  std::vector<int32_t> names;  // of each task: its number in the problem
  std::vector<StretchTask> tasks;
  std::vector<StretchBuffer> buffers;
  int64_t base = 0;   // bytes of what is alive all through
  int64_t start = 0;  // bytes alive at the start, base among them

  int32_t size() const { return static_cast<int32_t>(tasks.size()); }
};

/// Tasks, edges and uses of a problem by task: made once.
class TaskGraph {
 public:
  /// REQUIRES: check(problem) is ok. The problem must outlive it.
  explicit TaskGraph(const Problem& problem);

  const Problem& problem() const { return *problem_; }
  int32_t tasks() const { return problem_->tasks; }
  /// Direct predecessors and successors, each once, sorted.
  const std::vector<int32_t>& before(int32_t task) const { return before_[task]; }
  const std::vector<int32_t>& after(int32_t task) const { return after_[task]; }

  /// The stretch [begin, end) of `order`.
  Stretch stretch(const std::vector<int32_t>& order, int32_t begin, int32_t end) const;

 private:
  const Problem* problem_;
  std::vector<std::vector<int32_t>> before_;
  std::vector<std::vector<int32_t>> after_;
  std::vector<std::vector<int32_t>> touched_;   // buffers that a task makes or reads
  std::vector<std::vector<int32_t>> in_place_;  // candidates by the task that makes `to`
};

/// Bytes alive as tasks of a stretch run one after the other.
class Walk {
 public:
  explicit Walk(const Stretch& stretch);

  /// Bytes alive while `task` runs now.
  int64_t during(int32_t task) const;
  /// Bytes alive after it.
  int64_t after(int32_t task) const;
  /// Runs it. REQUIRES: what runs before it has run.
  void run(int32_t task);
  /// Takes back the task that was run last.
  void undo(int32_t task);

  int64_t live() const { return live_; }
  bool ready(int32_t task) const { return waiting_[task] == 0; }

 private:
  bool dies_with(int32_t buffer) const { return left_[buffer] == 1; }
  int64_t freed(const StretchTask& task) const;

  const Stretch& stretch_;
  std::vector<int32_t> left_;     // readers of each buffer that are still to run
  std::vector<int32_t> waiting_;  // predecessors of each task that are still to run
  int64_t live_;
};

/// The most that results of `task` save by taking the bytes of arguments for which `dies(buffer)` holds; each gives its
/// bytes once. The candidates of one operator are few, so they are taken as they come.
template <typename Dies>
int64_t saved_bytes(const Stretch& stretch, const StretchTask& task, const Dies& dies) {
  int64_t saved = 0;
  for (size_t i = 0; i < task.in_place.size(); ++i) {
    const InPlace& candidate = task.in_place[i];
    if (!dies(candidate.from)) continue;
    bool clashes = false;
    for (size_t k = 0; k < i && !clashes; ++k) {
      const InPlace& other = task.in_place[k];
      clashes = (other.from == candidate.from || other.to == candidate.to) && dies(other.from);
    }
    if (clashes) continue;
    saved += std::min(stretch.buffers[candidate.from].bytes, stretch.buffers[candidate.to].bytes);
  }
  return saved;
}

/// What `task` makes, and of that what stays when it is done.
int64_t made_bytes(const Stretch& stretch, int32_t task);
int64_t staying_bytes(const Stretch& stretch, int32_t task);

/// The largest sum while a task of the stretch runs, in this order of its own numbers.
int64_t stretch_peak(const Stretch& stretch, const std::vector<int32_t>& order);

/// No order of the stretch has a lower peak: what one task needs by itself, and what is alive at both ends.
int64_t stretch_bound(const Stretch& stretch);

}  // namespace berth::scheduling
