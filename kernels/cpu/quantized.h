// berth::quantized_linear and berth::quantized_conv with the processor's products of bytes, the same bits as the
// portable kernels.
//
// A constant weight is used in place where it is packed (quantized_packing.h), and packed once, at load, where it is
// not. One that is computed is packed in each call. Tensors may be in any order; channels innermost are fast.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::cpu {

Error quantized_linear_out(KernelContext& context, const arguments::quantized_linear_out& args);
size_t quantized_linear_temp_bytes(const arguments::quantized_linear_out& args, int threads);
Error quantized_linear_prepare(PrepareContext& context, const arguments::quantized_linear_out& args, void** state);

Error quantized_conv_out(KernelContext& context, const arguments::quantized_conv_out& args);
size_t quantized_conv_temp_bytes(const arguments::quantized_conv_out& args, int threads);
Error quantized_conv_prepare(PrepareContext& context, const arguments::quantized_conv_out& args, void** state);

/// Of both.
void quantized_release(void* state);

/// For tests: whether the weight of a prepared call is used in place.
bool quantized_uses_weight_in_place(const void* state);

}  // namespace berth::cpu
