// canonicalise_views: gives every copy that keeps the bytes in their order one operator, view_copy, so that the planner
// sees one kind of view.
//
//     %b: f32[1,3] = aten::unsqueeze_copy(%x, 0)         →   %b: f32[1,3] = aten::view_copy(%x, [1, 3])
//     %c: f32[3] = aten::select_copy.int(%b, 0, 0)       →   %c: f32[3] = aten::view_copy(%b, [3])
//     %d: f32[3,1,1] = aten::permute_copy(%e, [1, 0, 2]) →   … view_copy, where %e is f32[1,3,1]
//
// Only where all sizes are numbers: a view with symbolic sizes would need them computed when the program runs.
#pragma once

#include "compiler/passes/pass.h"

namespace berth::passes {

Expected<Changed> canonicalise_views(ir::Module& module, const Options& options);

}  // namespace berth::passes
