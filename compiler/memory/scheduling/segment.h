// Segment: the tasks of one stretch, with what runs before and after it frozen: what one search works on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "compiler/memory/scheduling/order.h"

namespace berth::scheduling {

/// What a buffer is within a stretch; those that are alive all through are only in Segment::base.
struct SegmentBuffer {
  int64_t bytes = 0;
  int32_t producer = -1;         // within the segment; -1: alive at its start
  std::vector<int32_t> readers;  // within the segment, each once, sorted
  bool kept = false;             // alive at its end
};

struct SegmentTask {
  std::vector<int32_t> before;    // tasks of the segment that run before it, each once
  std::vector<int32_t> after;     // the reverse
  std::vector<int32_t> reads;     // buffers that may die with it: read by it, not kept
  std::vector<int32_t> makes;     // buffers that it produces
  std::vector<InPlace> in_place;  // into what it makes, in buffers of the segment
};

struct Segment {
  std::vector<int32_t> names;  // of each task: its number in the problem
  std::vector<SegmentTask> tasks;
  std::vector<SegmentBuffer> buffers;
  int64_t base = 0;   // bytes of what is alive all through
  int64_t start = 0;  // bytes alive at the start, base among them

  int32_t size() const { return static_cast<int32_t>(tasks.size()); }
};

/// Tasks, edges and uses of a problem by task: made once.
class Graph {
 public:
  /// REQUIRES: check(problem) is ok. The problem must outlive it.
  explicit Graph(const Problem& problem);

  const Problem& problem() const { return *problem_; }
  int32_t tasks() const { return problem_->tasks; }
  /// Direct predecessors and successors, each once, sorted.
  const std::vector<int32_t>& before(int32_t task) const { return before_[task]; }
  const std::vector<int32_t>& after(int32_t task) const { return after_[task]; }

  /// The stretch [begin, end) of `order`.
  Segment segment(const std::vector<int32_t>& order, int32_t begin, int32_t end) const;

 private:
  const Problem* problem_;
  std::vector<std::vector<int32_t>> before_;
  std::vector<std::vector<int32_t>> after_;
  std::vector<std::vector<int32_t>> touched_;   // buffers that a task makes or reads
  std::vector<std::vector<int32_t>> in_place_;  // candidates by the task that makes `to`
};

/// Bytes alive as tasks of a segment run one after the other.
class Walk {
 public:
  explicit Walk(const Segment& segment);

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
  int64_t freed(const SegmentTask& task) const;

  const Segment& segment_;
  std::vector<int32_t> left_;     // readers of each buffer that are still to run
  std::vector<int32_t> waiting_;  // predecessors of each task that are still to run
  int64_t live_;
};

/// The most that results of `task` save by taking the bytes of arguments for which `dies(buffer)` holds; each gives its
/// bytes once. The candidates of one operator are few, so they are taken as they come.
template <typename Dies>
int64_t saved_bytes(const Segment& segment, const SegmentTask& task, const Dies& dies) {
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
    saved += std::min(segment.buffers[candidate.from].bytes, segment.buffers[candidate.to].bytes);
  }
  return saved;
}

/// What `task` makes, and of that what stays when it is done.
int64_t made_bytes(const Segment& segment, int32_t task);
int64_t staying_bytes(const Segment& segment, int32_t task);

/// The largest sum while a task of the segment runs, in this order of its own numbers.
int64_t segment_peak(const Segment& segment, const std::vector<int32_t>& order);

/// No order of the segment has a lower peak: what one task needs by itself, and what is alive at both ends.
int64_t segment_bound(const Segment& segment);

}  // namespace berth::scheduling
