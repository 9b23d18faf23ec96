// Report: what is wrong with a program file, and where. Has a fixed size, so that the runtime can fill it without a
// heap.
#pragma once

#include "base/error.h"

namespace berth::format {

struct Report {
  Error code = Error::kOk;
  /// Where, in the file's own terms: "methods[0].values[7]", "header", "segments[2]".
  char place[96] = "";
  /// What was expected and what was found, in one sentence without a full stop.
  char message[192] = "";
};

/// Fills `report`, which may be null, with printf-style messages, truncated if necessary, and returns `code`.
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
Error fail(Report* report, Error code, const char* place, const char* message, ...);

}  // namespace berth::format
