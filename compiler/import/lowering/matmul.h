// Matrix products of any ranks, as mm or bmm.
#pragma once

#include "compiler/import/lowering/lowering.h"

namespace berth::lowering {

/// [..., rows, k] × [..., k, columns] as numpy.matmul has it: leading dimensions broadcast; a vector on the left is a
/// row, on the right a column, and its dimension goes again at the end.
ValueId matmul(Lowering& n, ValueId a, ValueId b);

/// x W^T + bias for W [out, in] and any leading dimensions of x; `bias` may be None.
ValueId linear(Lowering& n, ValueId x, ValueId weight, const Argument& bias);

}  // namespace berth::lowering
