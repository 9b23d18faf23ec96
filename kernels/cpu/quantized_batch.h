// berth::quantized_linear of a matrix for each of a batch, which are all computed: those of attention. Each is packed
// before its product. A large product is shared out to the threads; small ones are taken by a thread each.
#pragma once

#include "kernels/cpu/quantized_run.h"
#include "kernels/portable/arguments.h"

namespace berth::cpu {

/// Temporary memory in all, padding included, for tensors of these sizes or smaller ones. `layout` is that of one
/// matrix.
size_t quantized_batch_temp_bytes(const QuantizedLayout& layout, const arguments::quantized_linear_out& args,
                                  int threads);

/// REQUIRES: the weight has three dimensions
Error run_quantized_batch(KernelContext& context, const arguments::quantized_linear_out& args,
                          const QuantizedLayout& layout, const QuantizedFunctions& functions,
                          const QuantizedQuotients& quotients);

}  // namespace berth::cpu
