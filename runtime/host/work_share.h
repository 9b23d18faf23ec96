// WorkShare: one thread's part of a job that several threads do together. For thread pools.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/kernel.h"

namespace berth {

/// How a job is cut: into as many parts as threads have something to do, each of so many ranges. All ranges have at
/// least the grain's items.
struct WorkCut {
  /// Ranges are few enough that taking one costs nothing beside doing it, and enough to even out threads of unequal
  /// speed.
  static constexpr int64_t kMostRanges = 4;

  int64_t parts;
  int64_t ranges;

  /// REQUIRES: count, grain and threads are at least 1.
  static WorkCut of(int64_t count, int64_t grain, int threads);
  int64_t total() const { return parts * ranges; }
};

/// A part's ranges, of which the thread that it belongs to takes the first, and others that have nothing left take the
/// last. Alone on its cache line: threads that have enough to do do not disturb each other.
class alignas(64) WorkShare {
 public:
  /// Part `index` of the job that cuts [0, count) so, and has this number. May only be called when no range is left;
  /// then no range of the job before may be under way either. Any thread may take ranges from now on.
  void set(uint32_t job, const WorkCut& cut, int64_t index, int64_t count, ParallelBody body);
  /// The number of the job that was set last.
  uint32_t job() const { return static_cast<uint32_t>(left_ >> 32); }

  /// Does the first or the last range that is left, and says of which job it was; false when none is left.
  bool do_first(uint32_t* job) { return do_one(true, job); }
  bool do_last(uint32_t* job) { return do_one(false, job); }

 private:
  bool do_one(bool first, uint32_t* job);

  // The ranges that nobody has taken, and their job, in one word: [job:32][first:16][end:16].
  std::atomic<uint64_t> left_{0};
  // Written while no range is left. Who has taken one may read them: its job does not end before that range is done.
  ParallelBody body_ = {nullptr, nullptr};
  int64_t begin_ = 0;
  int64_t end_ = 0;
  int64_t ranges_ = 0;
};

}  // namespace berth
