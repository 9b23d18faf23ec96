// The last look at what was compiled: the judge of the finished file, which knows nothing of planners and emitters.
#pragma once

#include "base/failure.h"
#include "base/span.h"

namespace berth {

/// Verifies structure, memory plan, devices and nested programs of the program in `file` (format/verify.h,
/// format/verify_plan.h, check_delegates.h). A fault is ours: Internal, with the place in the program. REQUIRES: `file`
/// lies at a multiple of 16.
Status check_program(Span<const uint8_t> file);

}  // namespace berth
