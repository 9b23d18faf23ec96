// The final check of a compiled file, independent of planner and emitter.
#pragma once

#include <set>
#include <string>

#include "base/failure.h"
#include "base/span.h"

namespace berth {

/// Verifies structure, memory plan, devices and nested programs of the program in `file` (format/verify.h,
/// format/plan_check/verify_plan.h, check_delegates.h). An error means a bug in Berth: Internal, with the place in the
/// program. `external`: the keys of constants that lie in data files. REQUIRES: `file` is aligned to 16.
Status check_program(Span<const uint8_t> file, const std::set<std::string>& external = {});

}  // namespace berth
