// Means over the pixels of images whose channels lie innermost, and over the rows of matrices; anything else goes to
// the portable kernel.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::cpu {

Error mean_dim_out(KernelContext& context, const arguments::mean_out& args);

}  // namespace berth::cpu
