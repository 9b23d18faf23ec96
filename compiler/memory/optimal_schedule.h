// Whether a plan is as low as it can be in every order of a method's nodes.
#pragma once

#include "compiler/memory/model.h"

namespace berth::memory {

/// Whether each arena of `plan` is as high as it must be in every order of the nodes (scheduling/every_schedule.h).
/// False says nothing. REQUIRES: `model` is the method's, made with `set`; `plan` is of the model.
bool is_lowest_of_all_orders(const ir::Module& module, const ir::Method& method, const MemoryModel& model,
                             const InPlaceSet& set, const packing::Plan& plan);

}  // namespace berth::memory
