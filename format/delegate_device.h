// What the compile specs of a delegate in a program file say to Berth.
#pragma once

#include "base/delegate_specs.h"
#include "base/target_device.h"
#include "format/program_view.h"

namespace berth::format {

/// Reads the delegate's compile specs by the rules of base/target_device.h. Entries that are null in a damaged file are
/// ignored.
TargetDevice target_device(const fb::BackendDelegate& delegate);

/// What it asks of the program around it. REQUIRES: as target_device().
DelegateSpecs delegate_specs(const fb::BackendDelegate& delegate);

/// Whether a call with `args` is given the state that `specs` ask for: a tensor of as many bytes in an arena, with an
/// initial value. True when they ask for none. REQUIRES: the arguments are values of `plan`.
bool is_given_state(const fb::ExecutionPlan& plan, const DelegateSpecs& specs,
                    const flatbuffers::Vector<int32_t>& args);

}  // namespace berth::format
