// Determinants, linear systems and inverses of small square matrices by Gaussian elimination, with partial pivoting.
// The number of operators grows with the size of the matrices, not with how many there are.
#pragma once

#include "compiler/import/lowering/lowering.h"

namespace berth::lowering {

/// The largest matrix of which a determinant is taken, and of which a system is solved.
constexpr int64_t kMaxDeterminant = 64;
constexpr int64_t kMaxSystem = 32;

/// The determinants of `x` [count, size, size]: [count, 1]. Fails where the size is open or above kMaxDeterminant.
ValueId determinant(Lowering& n, ValueId x);

/// X with A · X = B, of `a` [count, size, size] and `b` [count, size, columns]. Fails where the size is open or above
/// kMaxSystem; a matrix that is singular gives infinities and NaNs.
ValueId solved(Lowering& n, ValueId a, ValueId b);

/// The inverses of `a` [count, size, size], as solved() finds them.
ValueId inverse(Lowering& n, ValueId a);

}  // namespace berth::lowering
