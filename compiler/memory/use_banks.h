// Puts the values of a planned method into the banks of its devices (banks.h), where they cost least.
#pragma once

#include "compiler/memory/plan_schedule.h"

namespace berth::memory {

/// `plan` with the arenas of devices that have banks replaced by those banks: all of them, in the order of
/// MemoryOptions::banks, in every method, so that a bank has the same memory id in each; and state, in an arena of its
/// own behind the first, in the first bank that holds it. Of a device without banks nothing changes.
///
/// What delegates say in their compile specs counts as well (bank_words.h): what must lie in a bank does, like what is
/// pinned; what should, does as far as all else fits.
///
/// OutOfResources when something fits nowhere: how many bytes are missing, and which values are alive then.
/// InvalidArgument for two banks of one name, a bank of a device on which nothing lies, a device with far banks alone,
/// a value pinned to a far bank that spill_to_far_banks() has not put there, a value pinned to a bank of another
/// device, and one that pins and delegates want in two. NotFound when a delegate must have a tensor in a bank that its
/// device does not have.
Expected<MethodPlan> use_banks(const ir::Module& module, const ir::Method& method, const MemoryOptions& options,
                               MethodPlan plan);

}  // namespace berth::memory
