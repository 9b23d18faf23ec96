// compile_delegates: delegates of targets that compile what they take (plug-ins: plugin/plugin.h) get their payloads.
//
// The region of each call is given to its target, and is gone from the graph then: the delegate is like one that was
// compiled elsewhere, and what it asks of the program around it stands in its compile specs (base/delegate_specs.h).
#pragma once

#include "compiler/passes/pass.h"
#include "compiler/placement/options.h"

namespace berth::placement {

/// `--why compile_delegates`: a line a delegate, with its bytes. Fails with the target's own words, at the call; and
/// when two delegates give different named data under one key, or state of one name that differs.
Expected<passes::Changed> compile_delegates(ir::Module& module, const Options& options,
                                            const passes::Options& pass_options);

}  // namespace berth::placement
