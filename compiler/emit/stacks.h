// Offsets that follow the sizes (fb::Stack): which tensors make a block, in which order the blocks lie on each other,
// and which of those below a block it rests on.
//
//     the plan at the bound          as blocks, for all sizes: c rests on b, b on a; d rests on a alone, e on nothing
//     bytes ^                        (a is dead before e is alive)
//           |  . c c c c .
//           |  b b b . d d           The order is that of the plan's offsets, so at the bound no block lies higher than
//           |  a a a a a e           in the plan. Except behind a block of which the plan uses only the front again:
//           +---------------> time   a block ends where its largest tensor does, as long as any of its is alive, so
//                                    what the plan puts behind bytes that lie over their floats begins behind the
//                                    floats. Where an arena would come out larger so, the runtime takes the file's
//                                    offsets.
#pragma once

#include <string>
#include <vector>

#include "compiler/memory/plan_schedule.h"
#include "format/write/meta_desc.h"

namespace berth::emit {

/// Whether the memory of `method` may follow its sizes: a value has a size that is a symbol, and all delegates are
/// Berth's own, which take their arguments from other places in each run.
bool follows_sizes(const ir::Module& module, const ir::Method& method);

/// The stacks of the arenas of `desc`, by ascending number. Not of arenas that hold state, whose place stays; nor of
/// those in which no tensor is bounded, with more blocks than the plan check compares, or whose blocks are not aligned.
/// REQUIRES: `desc` is what `plan` was emitted as.
std::vector<format::StackDesc> make_stacks(const memory::MethodPlan& plan, const format::MethodDesc& desc);

}  // namespace berth::emit
