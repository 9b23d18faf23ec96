// place: from a module on the host to one whose every value has a device.
//
//     partition            what targets take becomes delegates
//     propagate_devices    each value gets the device where it is made
//     insert_copies        each reader gets its values where it reads them
//
// They follow the passes of compiler/passes/pipeline.h and come before the planner. With no target and no device asked
// for, none of them changes anything.
#pragma once

#include <memory>
#include <vector>

#include "compiler/passes/pipeline.h"
#include "compiler/place/options.h"

namespace berth::place {

/// The three passes, for passes::run(). `options` must outlive them. Run them on one module, once.
std::vector<passes::Pass> place_passes(const Options& options);

/// Runs them, and checks what they promise: ir::verify() and ir::verify_devices(). REQUIRES: ir::verify(module) is
/// well.
Status place(ir::Module& module, const Options& options, const passes::Options& pass_options = {});

}  // namespace berth::place
