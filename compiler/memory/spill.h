// Spilling: values that wait in a far bank, which the nodes of their device cannot read (`--bank psram=8M,far`).
//
//     %a = exp(%x)                          %a = exp(%x)
//     …                   (no room)         %a.far = clone(%a)            in psram
//     …                                     …                             %a takes no room here
//     %y = mul(%b, %a)                      %a.near = clone(%a.far)
//                                           %y = mul(%b, %a.near)
//
// Where a method fits into the near banks nothing changes. Otherwise of the step where the most is alive, the value
// that is not read for the longest time goes, until all fits. An input that is not read before lies in the far bank
// from the start, and an output that is not read again to the end. Between two waits a value is copied out once. On the
// host the copies are aten::clone, within another device berth::_d2d_copy. Values of branches and loops, and state,
// stay near.
#pragma once

#include <vector>

#include "compiler/memory/options.h"

namespace berth::memory {

/// Adds the copies to the methods of `module` that need them, and to their options what lies where
/// (MemoryOptions::spilled); such a method keeps its order. `options`: one for each method. OutOfResources when nothing
/// that is left to go would make it fit: what plan_memory() says then. Other failures as plan_memory(). REQUIRES:
/// ir::verify(module) is ok.
Status spill_to_far_banks(ir::Module* module, std::vector<MemoryOptions>* options);

}  // namespace berth::memory
