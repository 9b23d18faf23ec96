// How long an order of tasks takes where several workers work at the same time: the host, which hands tasks out one
// after the other, and devices, each of which runs what it was handed in that order. This is how a Method runs
// (docs/devices.md):
//
//   a task begins      when the host comes to it, and its workers have done what they were handed before
//   a copy between two devices   is the work of the one that gets it. The other goes on, and waits for the copy when
//                                the first one gets or sends the next: a stream has one mark (runtime/pending_reads.h)
//   the host goes on   at once; or when the task is done, if that is its own or one that it waits for, such as a copy
//                      from its memory
//   a copy to the host's memory   may be under way when the host goes on: before it comes to what reads that, it waits
//                                 (runtime/arrivals.h)
//
// So a task waits for what its workers did before, for what the host waited for before, and for copies to the host that
// it reads. That is all that it reads, as copies carry values from worker to worker. Nanoseconds are whole numbers, so
// that sums are the same on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/memory/scheduling/problem.h"

namespace berth::scheduling {

/// The host; devices are 1 and more.
constexpr int32_t kHost = 0;

/// How long a task takes, and on which worker. More than kMostNanoseconds count as that.
struct TaskTime {
  int64_t nanoseconds = 0;
  int32_t worker = kHost;
  int32_t other = -1;                // of a copy between two devices: the one that has what is copied
  bool host_waits = false;           // of a device's task
  bool holds_other = true;           // the other does nothing else until the copy is done, as its bytes are given away
  int32_t arrival = -1;              // of a copy to the host that does not wait for it: its number among them
  std::vector<int32_t> awaits = {};  // the numbers of those that it reads
};

/// Nearly three hours; sums over as many tasks as there can be are numbers still.
constexpr int64_t kMostNanoseconds = 10'000'000'000'000;

/// When each task runs, by its number.
struct Timeline {
  std::vector<int64_t> begin;
  std::vector<int64_t> end;
  int64_t nanoseconds = 0;  // until all is done
};

/// What no order can be faster than.
struct TimeBounds {
  int64_t critical_path = 0;  // the longest chain of tasks of which each must run before the next
  int64_t host = 0;           // what the host does, and waits for
  std::vector<int64_t> busy;  // what each worker does

  int64_t least() const;
};

/// The clocks of the workers, as tasks are handed out.
class WorkerClocks {
 public:
  explicit WorkerClocks(int32_t workers) : free_(workers, 0), copies_(workers) {}

  /// Hands out a task: when it begins.
  int64_t hand_out(const TaskTime& task);
  /// Whether the host would have to wait for a copy before it comes to the task.
  bool must_wait(const TaskTime& task) const;
  /// When a worker is done with what it was handed.
  int64_t free(int32_t worker) const { return free_[worker]; }
  /// Sums over workers of when they are.
  int64_t sum() const;
  /// When all are.
  int64_t last() const;
  /// Whether, whatever is handed out next, nothing begins later by these clocks than by the others.
  bool are_never_later(const WorkerClocks& others) const;

 private:
  /// The last copy that a worker got: who is to wait for it.
  struct Copy {
    int32_t owner = -1;
    int64_t end = 0;
  };

  /// A copy to the host that it has not waited for.
  struct Arrival {
    int32_t number;
    int64_t end;
  };

  void mark(int32_t worker);
  int64_t arrived(const TaskTime& task) const;

  std::vector<int64_t> free_;
  std::vector<Copy> copies_;
  std::vector<Arrival> arrivals_;
};

/// How many workers there are: the host, and up to the last device that has a task.
int32_t count_workers(const std::vector<TaskTime>& times);

/// REQUIRES: `tasks` holds each of the tasks once, in an order that they may run in.
Timeline timeline_of(const std::vector<TaskTime>& times, const std::vector<int32_t>& tasks);

/// REQUIRES: check(problem) is ok, and a time for each task.
TimeBounds time_bounds(const Problem& problem, const std::vector<TaskTime>& times);

/// Of each task: the longest chain that begins with it. REQUIRES: as above.
std::vector<int64_t> chains_from(const Problem& problem, const std::vector<TaskTime>& times);

}  // namespace berth::scheduling
