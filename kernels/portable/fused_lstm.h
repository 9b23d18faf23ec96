// The arguments of berth::lstm, checked once for every kernel of it.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::portable {

/// Checks dtypes, sizes and memory of all arguments and sets the sizes of the outputs.
Error prepare_lstm(KernelContext& context, const arguments::fused_lstm_out& args);

}  // namespace berth::portable
