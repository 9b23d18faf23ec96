// check_elements: no node computes with elements that its kernel has no arithmetic for.
//
// Kernels compute with bools, integers and f16, bf16, f32, f64. Complex numbers are added, multiplied, summed and
// taken apart; narrow types (base/dtype.h) are moved, converted and filled with a number, quantised and bit types only
// moved: copied, cut, joined, looked up. Every kernel says so itself when it is called; this pass says it before there
// is a program, with the names of node and value.
#pragma once

#include "compiler/passes/pass.h"

namespace berth::passes {

/// Changes nothing. NotSupported for the first such node. Nodes of `berth::` operators, which backends take or leave,
/// are not looked at, but what is in their regions.
Expected<Changed> check_elements(ir::Module& module, const Options& options);

}  // namespace berth::passes
