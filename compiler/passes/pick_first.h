// pick_first: rows that are picked out of a table which is computed from constants are picked before they are computed.
//
//     %w: f32[30522,384] = dim_order_ops::_to_dim_order_copy(@table: i8[30522,384], …)
//     %t: f32[30522,384] = aten::mul.Tensor(%w, @scale)
//     %r: f32[n,384] = aten::index.Tensor(%t, [%ids])
//   →
//     %p: i8[n,384] = aten::index.Tensor(@table, [%ids])
//     %w: f32[n,384] = dim_order_ops::_to_dim_order_copy(%p, …)
//     %r: f32[n,384] = aten::mul.Tensor(%w, @scale)
//
// Embedding tables that were quantised to be small are so never made large in memory. Folding has computed the small
// ones already; this is for those that folding leaves as they are because they would grow.
#pragma once

#include "compiler/passes/pass.h"

namespace berth::passes {

/// Why rows are picked first, or not; the words of `--why pick_first`.
enum class PickReason {
  kPicked,
  kNotFewer,     // as much is picked as there is
  kNotElements,  // an operator between constant and pick mixes elements of several rows
};
const char* to_string(PickReason reason);

Expected<Changed> pick_first(ir::Module& module, const Options& options);

}  // namespace berth::passes
