// Nearest and bilinear resizing of f32 images whose channels lie innermost; anything else goes to the portable kernels.
#pragma once

#include "runtime/kernel.h"

namespace berth::cpu {

Error upsample_nearest2d_out(KernelContext& context, Span<EValue* const> args);
Error upsample_bilinear2d_out(KernelContext& context, Span<EValue* const> args);
/// For both kernels.
size_t upsample_nearest2d_temp_bytes(Span<EValue* const> args, int threads);
size_t upsample_bilinear2d_temp_bytes(Span<EValue* const> args, int threads);

}  // namespace berth::cpu
