// cse: common-subexpression elimination. Also merges equal constants, across methods.
//
//     %a: f32[2] = aten::relu(%x)
//     %b: f32[2] = aten::relu(%x)      →   uses of %b read %a
//
// Nodes are the same when operator, arguments and result types are. What a region computes is not seen outside of it.
// States and nodes with regions are left alone; so are two outputs of a method, which stay two tensors.
#pragma once

#include "compiler/passes/pass.h"

namespace berth::passes {

Expected<Changed> cse(ir::Module& module, const Options& options);

/// Constants of equal type and bytes become one; their names are those of the first. Returns whether there were any.
bool merge_equal_constants(ir::Module& module);

}  // namespace berth::passes
