// Where buffers lie in a run of a method whose arenas follow the sizes: computed from what was emitted and from
// berth.meta, without the runtime.
#pragma once

#include <vector>

#include "compiler/emit/emit.h"
#include "format/program_view.h"

namespace berth::plan_test {

/// The live ranges at their places when all sizes of inputs that are symbols are `size`. Symbols of no input count at
/// their largest. Where a delegate says how much of its scratch it needs, which is not known here, everything is in
/// use.
/// REQUIRES: `lives` and `desc` are of one method, `meta` what its file says of it.
std::vector<LiveRange> lives_at_size(const std::vector<LiveRange>& lives, const format::MethodDesc& desc,
                                     const fb::MethodMeta& meta, int64_t size);

}  // namespace berth::plan_test
