// Means over the pixels of images whose channels lie innermost, and over the rows of matrices; anything else goes to
// the portable kernel.
#pragma once

#include "runtime/kernel.h"

namespace berth::cpu {

Error mean_dim_out(KernelContext& context, Span<EValue* const> args);

}  // namespace berth::cpu
