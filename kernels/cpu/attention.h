// berth::attention and berth::attention.biased, f32, without a matrix of all scores: each thread takes heads, or parts
// of their queries, with scratch memory of its own (attention_head.h). Other layouts than rows of tokens, and other
// dtypes, are refused.
//
// A key that the mask hides counts with a weight of 0, as where the scores are written out: a value of its that is not
// finite makes NaN of the row. What lies behind the diagonal of causal attention is not multiplied at all.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::cpu {

/// "Tensor query, Tensor key, Tensor value, Tensor? mask, int heads, int head_size, int query_column, int key_column,
/// int value_column, float scale, bool causal -> Tensor out"
Error attention_out(KernelContext& context, const arguments::fused_attention_out& args);
size_t attention_temp_bytes(const arguments::fused_attention_out& args, int threads);

/// "Tensor query, Tensor key, Tensor value, Tensor bias, Tensor mask, int heads, int head_size, int query_column, int
/// key_column, int value_column, float scale -> Tensor out"
Error attention_biased_out(KernelContext& context, const arguments::fused_attention_biased_out& args);
size_t attention_biased_temp_bytes(const arguments::fused_attention_biased_out& args, int threads);

}  // namespace berth::cpu
