// A kernel of the CUDA room called as a test calls a portable one: complete on return, with what it found wrong on the
// device as its error.
#pragma once

#include "runtime/kernel.h"

namespace berth::cuda {

/// Runs `kernel` with a queue of its own. A fault is InvalidArgument.
Error run_tested(KernelFunction kernel, KernelContext& context, Span<EValue* const> args);

}  // namespace berth::cuda
