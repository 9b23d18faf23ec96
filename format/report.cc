#include "format/report.h"

#include <cstdarg>
#include <cstdio>

namespace berth::format {

Error fail(Report* report, Error code, const char* place, const char* message, ...) {
  if (report == nullptr) return code;
  report->code = code;
  std::snprintf(report->place, sizeof report->place, "%s", place);
  va_list args;
  va_start(args, message);
  std::vsnprintf(report->message, sizeof report->message, message, args);
  va_end(args);
  return code;
}

}  // namespace berth::format
