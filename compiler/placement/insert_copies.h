// insert_copies: gives each reader its values on the device where it reads them.
//
// One copy a value and device, shared by all readers there, right before the first of them; branches and loops count as
// readers of what they use, so that no loop copies what does not change, but a copy that one branch of an `if` alone
// needs stands in that branch. From the cpu to a device (et_copy::_h2d_copy), from a device to the cpu
// (et_copy::_d2h_copy), directly between devices of one type (berth::_d2d_copy) where the options allow it; between
// others through the host, by the copy that readers on the host share.
//
// Copies that are there already are taken as what they are: other homes of one value. They are used and moved where
// they fit, and are removed where they are not needed; so a value never travels back to where it was.
//
// Each new copy says in Node::source what it copies, where to and why: "x to sim:0: delegate-input". An output that
// becomes a copy keeps its name.
#pragma once

#include "compiler/passes/pass.h"
#include "compiler/placement/propagate_devices.h"

namespace berth::placement {

enum class CopyReason : uint8_t {
  kDelegateInput,  // delegate-input: a delegate reads it there
  kHostOperator,   // host-operator: an operator of the program reads it
  kControlFlow,    // control-flow: a branch or loop takes or gives it there
  kState,          // state: a state that lives there gets it
  kOutput,         // graph-output: the method gives it there
};

/// "delegate-input", "host-operator"…
const char* to_string(CopyReason reason);

/// `--why insert_copies`: a line a copy. `outputs` is what propagate_devices() filled. REQUIRES: it ran on this module,
/// and nothing since.
Expected<passes::Changed> insert_copies(ir::Module& module, const Options& options, const passes::Options& pass_options,
                                        const OutputDevices& outputs);

}  // namespace berth::placement
