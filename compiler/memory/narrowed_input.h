// Calls of delegates whose result may lie at the front of their input (format/narrowing.h).
#pragma once

#include "compiler/ir/module.h"

namespace berth::memory {

/// The input that node `call` may narrow in place: invalid where it is not a call of a delegate of the cpu that does
/// that and nothing else. Its region says so, as format/narrowing.h will of the nested program that is made of it, or
/// the nested program that is the delegate's payload. Whether the input is dead after it is not looked at. Backends of
/// devices have other kernels.
ir::ValueId narrowed_input(const ir::Module& module, const ir::Method& method, const ir::Node& call);

}  // namespace berth::memory
