// Watch: follows long work, and ends it. The work polls it, as it does a Deadline.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "base/failure.h"

namespace berth {

/// Of a compilation, what passes and memory are taken to be; the rest is writing the program. Rough: a large plan takes
/// all of the time.
constexpr double kPassesPart = 0.3;
constexpr double kMemoryPart = 0.6;

/// Used by one thread.
class Watch {
 public:
  /// Called on the thread that works: with what is being done, and the part of all that is done, from 0 to 1. Returns
  /// whether to go on.
  using Function = std::function<bool(const std::string& step, double done)>;

  /// The function is called when a step begins, and within it where that is asked, at most once in this time.
  static constexpr std::chrono::milliseconds kPause{50};

  /// May be empty: then nothing is told, and nothing ends.
  explicit Watch(Function function) : function_(std::move(function)) {}

  /// The next step begins.
  void begin(std::string step, double done) {
    step_ = std::move(step);
    done_ = done;
    ask();
  }

  /// Whether the work must end. Asks, unless it was asked a moment ago; once true, it stays true.
  bool ended() {
    if (!ended_ && function_ && Clock::now() >= next_) ask();
    return ended_;
  }

  /// What work that was ended gives.
  static Failure failure() {
    return {Error::kInvalidState, "compile", "was ended by the function that follows its progress"};
  }

 private:
  using Clock = std::chrono::steady_clock;

  void ask() {
    if (ended_ || !function_) return;
    ended_ = !function_(step_, done_);
    next_ = Clock::now() + kPause;
  }

  Function function_;
  std::string step_;
  double done_ = 0;
  Clock::time_point next_;
  bool ended_ = false;
};

}  // namespace berth
