// Masks as the places of what is true in them.
#pragma once

#include "compiler/import/pt2/node_context.h"

namespace berth::pt2 {

/// For each dimension of `mask` the indices [count] of what is true, in order; how many there are only the data tell. A
/// mask of no dimensions counts as one element.
inline ValueList places(NodeContext& n, ValueId mask) {
  if (n.rank(mask) == 0) mask = n.view(mask, {Dim(1)});
  const ValueId rows = n.op(OpId::nonzero_out, {mask});
  ValueList columns;
  for (int i = 0; i < n.rank(mask); ++i) {
    columns.push_back(n.op(OpId::select_copy_int_out, {rows, Dim(1), Dim(i)}));
  }
  return columns;
}

}  // namespace berth::pt2
