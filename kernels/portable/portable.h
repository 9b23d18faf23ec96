// The portable kernels: the definition of every operator, in plain C++.
//
// One function a row of format/operators.def: berth::portable::add_out, berth::portable::convolution_out, … They follow
// PyTorch's semantics. Outputs are resized by the kernel and must have room. All dtypes that the operator's schema
// allows in PyTorch are taken, unless the kernel's own file says otherwise.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::portable {

/// Every portable kernel, for Program::load or a table of one's own. Static storage; no initialisation order.
KernelTable kernels();

#define OP(identifier, name, functional, out, schema, rule, in_place, view, unplaced, ...) \
  Error identifier(KernelContext& context, const arguments::identifier& args);
#include "format/operators.def"
#undef OP

}  // namespace berth::portable
