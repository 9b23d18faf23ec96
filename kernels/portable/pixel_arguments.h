// pixel_shuffle's and pixel_unshuffle's arguments, checked. Shared by every set of kernels.
#pragma once

#include <cstdint>

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::portable {

/// Gives `out` the sizes of pixel_shuffle(self, factor, out): channels become rows and columns. `*factor` is between 1
/// and 32767, so that its square is a size.
Error prepare_pixel_shuffle(KernelContext& context, const arguments::pixel_shuffle_out& args, int64_t* factor);

/// The way back.
Error prepare_pixel_unshuffle(KernelContext& context, const arguments::pixel_unshuffle_out& args, int64_t* factor);

}  // namespace berth::portable
