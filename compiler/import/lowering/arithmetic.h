// What operators of every format are made of: sums and products of two tensors, attention.
#pragma once

#include <cmath>

#include "compiler/import/lowering/lowering.h"

namespace berth::lowering {

inline ValueId add(Lowering& n, ValueId a, ValueId b) { return n.op(OpId::add_out, {a, b}); }
inline ValueId sub(Lowering& n, ValueId a, ValueId b) { return n.op(OpId::sub_out, {a, b}); }
inline ValueId mul(Lowering& n, ValueId a, ValueId b) { return n.op(OpId::mul_out, {a, b}); }

/// The softmax of each row of `scores`. A row of minus infinity, which may look at nothing, gives zeros when
/// `may_be_empty`.
inline ValueId attention_weights(Lowering& n, ValueId scores, bool may_be_empty) {
  const ValueId weights = n.op(OpId::softmax_out, {scores, Dim(-1), false});
  if (!may_be_empty) return weights;
  const ValueId top = n.op(OpId::amax_out, {scores, DimList{Dim(-1)}, true});
  const ValueId empty = n.op(OpId::eq_Scalar_out, {top, -HUGE_VAL});
  return n.op(OpId::where_self_out, {empty, n.splat(n.dtype(weights), {}, 0), weights});
}

}  // namespace berth::lowering
