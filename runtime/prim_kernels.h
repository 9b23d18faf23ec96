// The primitive operators: arithmetic on sizes, reading a number out of a tensor, views and stacking of dynamic size.
//
// Every program may use them, so a Program knows them without being told. They are `aten::sym_size.int`,
// `aten::sym_numel`, `aten::_local_scalar_dense` and `executorch_prim::…`; names, arguments and results are those of
// ExecuTorch 1.5. Integers wrap around on overflow; what has no result (a division by zero, the integer of an
// infinity) is InvalidArgument; an argument of the wrong kind is InvalidType.
#pragma once

#include "runtime/kernel.h"

namespace berth {

/// Static storage; no initialisation order. Unlike out variants, these are called without the repeated last argument.
KernelTable prim_kernels();

}  // namespace berth
