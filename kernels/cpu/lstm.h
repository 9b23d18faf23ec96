// berth::lstm_cell: one step of a long short-term memory, from the product to the new state in one go. A packed weight
// and other dtypes than f32 go to the portable kernel.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::cpu {

Error lstm_cell_out(KernelContext& context, const arguments::fused_lstm_cell_out& args);
/// berth::lstm_gates: the new state from sums that another operator made.
Error lstm_gates_out(KernelContext& context, const arguments::fused_lstm_gates_out& args);

}  // namespace berth::cpu
