// Device placement: from a module on the host to one whose every value has a device.
//
//     partition            what targets take becomes delegates
//     propagate_devices    each value gets the device where it is made
//     insert_copies        each reader gets its values where it reads them
//
// Their place in a compilation is in compiler/pipeline.h. With no target and no device asked
// for, none of them changes anything.
#pragma once

#include <memory>
#include <vector>

#include "compiler/passes/pipeline.h"
#include "compiler/placement/options.h"

namespace berth::placement {

/// The three passes, for passes::run(). `options` must outlive them. Run them on one module, once.
std::vector<passes::Pass> placement_passes(const Options& options);

/// Runs them, and checks what they promise: ir::verify() and ir::verify_devices(). REQUIRES: ir::verify(module) is ok.
Status place(ir::Module& module, const Options& options, const passes::Options& pass_options = {});

}  // namespace berth::placement
