// Whether a call's results may lie where what it reads lies.
#pragma once

#include "format/plan_check/access.h"
#include "format/plan_check/sweep_state.h"

namespace berth::format::plan_check {

/// Of the results that the call writes whole. InvalidProgram when one lies over what the call reads and its operator
/// does not allow that, or berth.meta does not record it. REQUIRES: the reads of the call are marked.
Error check_results(SweepState& state, const CallShape& shape);

/// Of one result; `shape`: null for delegates, which allow nothing.
Error check_result(SweepState& state, const CallShape* shape, int32_t value);

}  // namespace berth::format::plan_check
