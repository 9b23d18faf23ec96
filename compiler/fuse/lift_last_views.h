// lift_last_views: views of what a device gives stand on the host, behind the copies.
//
//     %r: f32[50,8]@cuda:0 = delegate(%x) {                    %r: f32[50,1,8]@cuda:0 = delegate(%x) {
//       %l: f32[50,1,8], %c = berth::lstm(%x.in, …)              %l: f32[50,1,8], %c = berth::lstm(%x.in, …)
//       %v: f32[50,8] = aten::view_copy(%l, [50, 8])             yield %l
//       yield %v                                         →     }
//     }                                                        %t: f32[50,1,8] = et_copy::_d2h_copy(%r)
//     %h: f32[50,8] = et_copy::_d2h_copy(%r)                   %h: f32[50,8] = aten::view_copy(%t, [50, 8])
//
// A delegate copies a view to where its caller wants it, which is one more thing to launch; on the host a view is a
// name. Placement leaves a model's last views there (compiler/placement/group.cc): these are of what was fused since.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> lift_last_views(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
