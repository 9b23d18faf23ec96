// WorkShare: one thread's part of a parallel job. For thread pools.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/kernel.h"

namespace berth {

/// How a job is divided: into parts, one for each thread that has work, and each part into ranges of at least `grain`
/// items.
struct WorkCut {
  /// The most ranges of a part: few enough that taking one costs little compared to running it, and enough to balance
  /// threads of unequal speed.
  static constexpr int64_t kMostRanges = 4;

  int64_t parts;
  int64_t ranges;

  /// REQUIRES: count, grain and threads are at least 1.
  static WorkCut of(int64_t count, int64_t grain, int threads);
  int64_t total() const { return parts * ranges; }
};

/// The ranges of a part. Its own thread takes the first that is left, threads that have finished theirs take the last.
/// On a cache line of its own, so that busy threads do not disturb each other.
class alignas(64) WorkShare {
 public:
  /// Sets part `index` of job number `job`, which divides [0, count) by `cut`; any thread may take ranges from now on.
  /// REQUIRES: no range of the previous job is left or running.
  void set(uint32_t job, const WorkCut& cut, int64_t index, int64_t count, ParallelBody body);
  /// The number of the last job.
  uint32_t job() const { return static_cast<uint32_t>(left_ >> 32); }

  /// Runs the first or the last range that is left, and sets `*job` to its job; false when none is left.
  bool do_first(uint32_t* job) { return do_one(true, job); }
  bool do_last(uint32_t* job) { return do_one(false, job); }

 private:
  bool do_one(bool first, uint32_t* job);

  // The ranges that are left, and their job, in one word: [job:32][first:16][end:16].
  std::atomic<uint64_t> left_{0};
  // Written only while no range is left. A thread that has taken a range may read them, because the job does not end
  // before that range is done.
  ParallelBody body_ = {nullptr, nullptr};
  int64_t begin_ = 0;
  int64_t end_ = 0;
  int64_t ranges_ = 0;
};

}  // namespace berth
