// berth::narrow_linear: products with weights of 8 and 4 bits, which are widened in registers for a few rows, and a
// panel at a time into the cache for many.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::cpu {

Error narrow_linear_out(KernelContext& context, const arguments::fused_narrow_linear_out& args);
size_t narrow_linear_temp_bytes(const arguments::fused_narrow_linear_out& args, int threads);
/// Packs the weight unless it is packed (packing_narrow.h). Dense weights that are computed, blocks of 4 bits that do
/// not begin where eight rows do, and scales that are not finite are left to the portable kernel.
Error narrow_linear_prepare(PrepareContext& context, const arguments::fused_narrow_linear_out& args, void** state);
void narrow_linear_release(void* state);

}  // namespace berth::cpu
