// The primitive operators: arithmetic on sizes, reading a number out of a tensor, views and stacking of dynamic size.
//
// Available to every program without a kernel table. They are `aten::sym_size.int`, `aten::sym_numel`,
// `aten::_local_scalar_dense` and `executorch_prim::…`, with the names, arguments and results of ExecuTorch 1.5.
// Integers wrap around on overflow. InvalidArgument when there is no result (division by zero, the integer of an
// infinity); InvalidType for an argument of the wrong kind.
#pragma once

#include "runtime/kernel.h"

namespace berth {

/// Static storage, initialised at compile time. Unlike out variants, these are called without the repeated last
/// argument.
KernelTable prim_kernels();

}  // namespace berth
