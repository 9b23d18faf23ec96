// simplify: removes nodes that give what they take, and joins chains of reorderings.
//
//     %a: f32[2,3] = aten::clone(%x)                            →   uses of %a read %x
//     %b: f32[2,3] = aten::add.Scalar(%x, 0)                    →   uses of %b read %x
//     %w: f32[2,3] = aten::where.self(%true, %x, %y)            →   uses of %w read %x
//     %c: f32[6] = aten::view_copy(%x, [6])
//     %d: f32[3,2] = aten::view_copy(%c, [3, 2])                →   %d: f32[3,2] = aten::view_copy(%x, [3, 2])
//     %p: f32[3,2] = aten::permute_copy(%x, [1, 0])
//     %q: f32[2,3] = aten::permute_copy(%p, [1, 0])             →   uses of %q read %x
//     %m: f32[8,3,4] = aten::expand_copy(%w, [8, 3, 4])
//     %p: f32[8,2,4] = aten::bmm(%x, %m)                        →   %p: f32[8,2,4] = a view of aten::mm(%x as rows, %w)
//     %r: f32[3], %s: f32[0,3] = berth::scan(0, [%x], [%t]) …   →   uses of %r read %x
//                                                                   %s: f32[0,3] = aten::full([0, 3], 0)
//
// A copy stays where it gives the caller a tensor of its own: an output that would become an input, a constant or
// another output. x + 0 counts as x although -0 + 0 is 0, and a product of all rows may sum in another order than those
// of a batch. A relu of a relu stays: no model has one, and the cost of an
// instruction is measured on chains of them (bench/).
#pragma once

#include "compiler/passes/pass.h"

namespace berth::passes {

/// Why a node went, or stayed although it gives what it takes; the words of `--why simplify`.
enum class SimplifyReason {
  kIdentity,        // the operator copies its input, or reorders, pads, slices nothing away
  kNeutralElement,  // x + 0, x * 1
  kViewOfView,      // now reads what the first one read
  kPermuteOfPermute,
  kOneMatrix,        // each product of a batch is with the same matrix
  kNoTurns,          // a loop that never turns gives what it carries, and empty tensors
  kKeepGraphOutput,  // the caller must get a tensor of its own
};
const char* to_string(SimplifyReason reason);

Expected<Changed> simplify(ir::Module& module, const Options& options);

}  // namespace berth::passes
