// The arguments of berth::lstm, berth::lstm_cell and berth::lstm_gates, checked once for every kernel of them.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::portable {

/// Checks dtypes, sizes and memory of all arguments and sets the sizes of the outputs.
Error prepare_lstm(KernelContext& context, const arguments::fused_lstm_out& args);
/// The same. The weight must be dense.
Error prepare_lstm_cell(KernelContext& context, const arguments::fused_lstm_cell_out& args);
/// The same.
Error prepare_lstm_gates(KernelContext& context, const arguments::fused_lstm_gates_out& args);

}  // namespace berth::portable
