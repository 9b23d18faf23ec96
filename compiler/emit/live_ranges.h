// Live range of each buffer, in instructions of the file.
#pragma once

#include <vector>

#include "compiler/emit/emitted_method.h"
#include "compiler/emit/reports.h"
#include "compiler/memory/plan_schedule.h"

namespace berth::emit {

/// One for each buffer of the plan. REQUIRES: the steps up to the reading of outputs were begun.
std::vector<LiveRange> live_ranges(const memory::MethodPlan& plan, const EmittedMethod& emitted);

}  // namespace berth::emit
