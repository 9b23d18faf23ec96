// berth::grouped_attention: few queries row by row, as where a model writes token by token, so that each key that they
// see is read once; more of them as tiles (attention_head.h).
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::cpu {

/// "Tensor query, Tensor key, Tensor value, Tensor? mask, Tensor? last, Tensor? before, float scale -> Tensor out"
Error grouped_attention_out(KernelContext& context, const arguments::grouped_attention_out& args);
size_t grouped_attention_temp_bytes(const arguments::grouped_attention_out& args, int threads);
Error grouped_attention_rows_out(KernelContext& context, const arguments::grouped_attention_rows_out& args);
size_t grouped_attention_rows_temp_bytes(const arguments::grouped_attention_rows_out& args, int threads);

}  // namespace berth::cpu
