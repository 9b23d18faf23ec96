// Einsum: any equation, as sums, permutations and batched matrix products of two factors at a time.
//
//     "bhid,bhjd->bhij"   labels of both and of the result: batch (b, h); of both alone: summed (d);
//                         of one: rows (i) and columns (j)
//
// An ellipsis stands for additional labels, aligned from the right as in broadcasting.
#pragma once

#include <string>
#include <vector>

#include "compiler/import/lowering/lowering.h"

namespace berth::lowering {

/// The value of `equation` for `inputs`; spaces in it mean nothing.
ValueId einsum(Lowering& n, const std::string& equation, const std::vector<ValueId>& inputs);

/// Whether that is a matrix product: two inputs share a label that the result lacks, and whose size is not 1 in them.
bool einsum_contracts(Lowering& n, const std::string& equation, const std::vector<ValueId>& inputs);

}  // namespace berth::lowering
