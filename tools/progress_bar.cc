#include "tools/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tools/tool.h"

namespace berth::tool {

bool ProgressBar::is_wanted() {
  const char* const terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

bool ProgressBar::show(const std::string& step, double done) {
  constexpr int kWidth = 24;
  if (watch_.seconds() < kPatience) return true;
  const int full = static_cast<int>(std::clamp(done, 0.0, 1.0) * kWidth);
  // Back to the begin of the line; what is left of an older one is erased.
  fmt::print(stderr, "\r[{}{}] {} {}\x1b[K", std::string(full, '#'), std::string(kWidth - full, '.'),
             duration_text(watch_.seconds()), printable(step).substr(0, 40));
  std::fflush(stderr);
  drawn_ = true;
  return true;
}

ProgressBar::~ProgressBar() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
}

}  // namespace berth::tool
