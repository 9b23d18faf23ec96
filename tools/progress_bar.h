// ProgressBar: how far a compilation is, on a terminal, for those that take more than a second.
#pragma once

#include <functional>
#include <string>

#include "base/stopwatch.h"

namespace berth::tool {

/// One line on standard error, which is gone when the bar is destroyed.
class ProgressBar {
 public:
  ProgressBar() = default;
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Draws; for CompileOptions::progress. Gives true.
  bool show(const std::string& step, double done);

  /// Whether standard error is a terminal that can draw one.
  static bool is_wanted();

 private:
  static constexpr double kPatience = 1;  // seconds

  Stopwatch watch_;
  bool drawn_ = false;
};

}  // namespace berth::tool
