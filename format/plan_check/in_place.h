// Whether a call's results may lie where what it reads lies.
#pragma once

#include "format/plan_check/access.h"
#include "format/plan_check/sweep_state.h"

namespace berth::format::plan_check {

/// Of the results that the call writes whole. InvalidProgram when one lies over what the call reads and its operator
/// does not allow that, or berth.meta does not record it. REQUIRES: the reads of the call are marked.
Error check_results(SweepState& state, const CallShape& shape);

/// The value that is the scratch of a call of a nested program, its last argument and bytes; kNone for others.
int32_t scratch_of(const PlanGraph& graph, const fb::DelegateCall& call);

/// Of the results of a call whose first `inputs` arguments are read: InvalidProgram when one shares bytes with the
/// scratch, and does not lie within it or berth.meta does not record that it does.
Error check_results_in_scratch(SweepState& state, const fb::DelegateCall& call, uint32_t inputs, int32_t scratch);

/// As check_results(), of one result of a delegate, whose first `inputs` arguments are read. It may lie over one of
/// these where berth.meta records it and the payload is a nested program, which says for itself what it changes
/// (format/nested.h).
Error check_delegate_result(SweepState& state, const fb::DelegateCall& call, uint32_t inputs, int32_t value);

}  // namespace berth::format::plan_check
