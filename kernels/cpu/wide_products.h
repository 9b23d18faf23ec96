// bmm and mm of f16 and bf16, with sums in f32 that are rounded once; anything else goes to the portable kernels.
//
// The work is cut into items, each done by one thread from start to end: some whole products that are small, or a block
// of rows and columns of one. The factors of an item are widened into temporary memory and multiplied by the portable
// kernel of f32. The items depend on the sizes alone, so that results do not depend on threads.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::cpu {

Error bmm_out(KernelContext& context, const arguments::bmm_out& args);
size_t bmm_temp_bytes(const arguments::bmm_out& args, int threads);
Error mm_out(KernelContext& context, const arguments::mm_out& args);
size_t mm_temp_bytes(const arguments::mm_out& args, int threads);

}  // namespace berth::cpu
