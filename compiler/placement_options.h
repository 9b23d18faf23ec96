// What CompileOptions say to placement: targets, rules, and where inputs and outputs live.
#pragma once

#include "compiler/compile.h"
#include "compiler/placement/options.h"

namespace berth {

/// InvalidArgument for a target, instruction set, precision, rule, device or compile spec that cannot be, or that
/// nothing would heed.
Expected<placement::Options> placement_options(const ir::Module& module, const CompileOptions& options);

}  // namespace berth
