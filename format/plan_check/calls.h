// What each kind of call does to the sweep: first its writes, backward, then its reads, then whether its results may
// lie over what it reads.
#pragma once

#include "format/plan_check/sweep_state.h"

namespace berth::format::plan_check {

Error sweep_kernel(SweepState& state, const fb::KernelCall& call);
Error sweep_delegate(SweepState& state, const fb::DelegateCall& call);

/// A move or a view: backward, the new name ends here, and who read it read the old one.
Error sweep_rename(SweepState& state, int32_t from, int32_t to);

}  // namespace berth::format::plan_check
