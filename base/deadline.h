// Deadline: when to stop.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace berth {

/// A moment that work may not pass, asked for again and again from inside of it. Once passed, it stays so. Not for
/// several threads at once.
class Deadline {
 public:
  /// Nanoseconds since whenever, never going back. Tests give one of their own.
  using Clock = int64_t (*)();

  /// Never.
  Deadline() = default;
  /// In so many seconds.
  explicit Deadline(double seconds, Clock clock = steady_clock)
      : clock_(clock), end_(clock() + static_cast<int64_t>(std::clamp(seconds, 0.0, 1e9) * 1e9)) {}

  /// Whether it has passed: looks at the clock.
  bool passed() { return passes_within(0); }

  /// Whether it was seen to have passed.
  bool was_passed() const { return passed_; }

  /// Whether it will have passed before something is done that takes `nanoseconds`, more or less, and cannot be cut
  /// short. If so it counts as passed.
  bool passes_within(int64_t nanoseconds) {
    if (clock_ == nullptr || passed_) return passed_;
    unseen_ = 0;
    passed_ = clock_() + nanoseconds >= end_;
    return passed_;
  }

  /// Whether it has passed, for innermost loops: `work` of some nanoseconds has been done, and the clock is looked at
  /// only when kSeldom of it has come together.
  bool passed_after(int64_t work) {
    if (clock_ == nullptr || passed_) return passed_;
    unseen_ += work;
    return unseen_ >= kSeldom && passed();
  }

  static int64_t steady_clock() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  static constexpr int64_t kSeldom = 50'000;

 private:
  Clock clock_ = nullptr;
  int64_t end_ = 0;
  int64_t unseen_ = 0;  // work since the clock was looked at
  bool passed_ = false;
};

}  // namespace berth
