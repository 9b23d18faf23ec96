// berth::shuffle of two images of as many channels, innermost in all of them: one pass that reads each element once and
// writes it where it ends. Everything else goes to the portable kernel, which defines it.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::cpu {

Error shuffle_out(KernelContext& context, const arguments::fused_shuffle_out& args);

}  // namespace berth::cpu
