// Nearest resizing, and bilinear of f32, of images whose channels lie innermost; anything else goes to the portable
// kernels.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::cpu {

Error upsample_nearest2d_out(KernelContext& context, const arguments::upsample_nearest2d_vec_out& args);
Error upsample_bilinear2d_out(KernelContext& context, const arguments::upsample_bilinear2d_vec_out& args);
/// For both kernels.
size_t upsample_nearest2d_temp_bytes(const arguments::upsample_nearest2d_vec_out& args, int threads);
size_t upsample_bilinear2d_temp_bytes(const arguments::upsample_bilinear2d_vec_out& args, int threads);

}  // namespace berth::cpu
