// Sums, differences and products of two tensors, of which several of PyTorch's operators are made.
#pragma once

#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {

inline ValueId add(NodeContext& n, ValueId a, ValueId b) { return n.op(OpId::add_out, {a, b}); }
inline ValueId sub(NodeContext& n, ValueId a, ValueId b) { return n.op(OpId::sub_out, {a, b}); }
inline ValueId mul(NodeContext& n, ValueId a, ValueId b) { return n.op(OpId::mul_out, {a, b}); }

}  // namespace berth::pt2
