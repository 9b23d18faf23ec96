// Bilinear reading of dense f32 images at the positions of a grid, with zeros or the border's pixels outside; anything
// else goes to the portable kernel.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::cpu {

Error grid_sampler_2d_out(KernelContext& context, const arguments::grid_sampler_2d_out& args);

}  // namespace berth::cpu
