// Deadline: a time limit for work that polls it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/watch.h"

namespace berth {

/// A point in time after which work must stop; the work polls it. Once passed, it stays passed. Not thread-safe.
class Deadline {
 public:
  /// A monotonic clock in nanoseconds, from any origin. Tests pass their own.
  using Clock = int64_t (*)();

  /// No deadline.
  Deadline() = default;
  /// `seconds` from now.
  explicit Deadline(double seconds, Clock clock = steady_clock)
      : clock_(clock), end_(clock() + static_cast<int64_t>(std::clamp(seconds, 0.0, 1e9) * 1e9)) {}

  /// It passes as well when `watch`, which must outlive it and may be null, ends the work.
  void follow(Watch* watch) { watch_ = watch; }

  /// Whether it has passed: looks at the clock.
  bool passed() { return passes_within(0); }

  /// Whether an earlier call found it passed; does not read the clock.
  bool was_passed() const { return passed_; }

  /// Whether it will have passed after about `nanoseconds` more of work that cannot be interrupted. If so it counts as
  /// passed.
  bool passes_within(int64_t nanoseconds) {
    if (is_never() || passed_) return passed_;
    unseen_ = 0;
    passed_ = (clock_ != nullptr && clock_() + nanoseconds >= end_) || (watch_ != nullptr && watch_->ended());
    return passed_;
  }

  /// passed() for innermost loops: adds `work` (in nanoseconds, estimated) to a counter and reads the clock only when
  /// the counter reaches kSeldom.
  bool passed_after(int64_t work) {
    if (is_never() || passed_) return passed_;
    unseen_ += work;
    return unseen_ >= kSeldom && passed();
  }

  static int64_t steady_clock() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  static constexpr int64_t kSeldom = 50'000;

 private:
  bool is_never() const { return clock_ == nullptr && watch_ == nullptr; }

  Clock clock_ = nullptr;
  Watch* watch_ = nullptr;
  int64_t end_ = 0;
  int64_t unseen_ = 0;  // work since the clock was last read
  bool passed_ = false;
};

}  // namespace berth
