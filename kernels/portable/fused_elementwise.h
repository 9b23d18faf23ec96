// The arguments of berth::elementwise, checked once for every kernel of it.
#pragma once

#include "format/elementwise_code.h"
#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::portable {

/// Whether `out` begins where the one input of a chain does, whose elements are wider and lie in the same order. Then
/// what is computed from the front overwrites nothing that is still to be read: each kernel of berth::elementwise does
/// so.
bool narrows_in_place(const arguments::fused_elementwise_out& args);

/// Checks the code (format/elementwise_code.h), dtypes, sizes and memory of all arguments and sets the sizes of the
/// output. Sets `*flat` to whether all tensors have the output's sizes and order in memory.
Error prepare_elementwise(KernelContext& context, const arguments::fused_elementwise_out& args, bool* flat);

/// One step: out[i] = op(a[i], b[i], c[i]) for i in [0, n); operands that `op` does not have are not read. It gives the
/// same bits on every processor of an architecture. `out` may be an operand.
void run_plain_step(elementwise::Op op, const float* a, const float* b, const float* c, int64_t n, float* out);

}  // namespace berth::portable
