// The arguments of berth::attention, checked once for every kernel of it.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::portable {

/// Head `h` has the columns [column + h * head_size, column + (h + 1) * head_size) of each of the three, which are
/// [batch, tokens, columns], row-major f32.
struct Attention {
  const Tensor* query;
  const Tensor* key;
  const Tensor* value;
  const Tensor* mask;  // f32, added to the scores, or bool; may be null
  int64_t heads, head_size;
  int64_t column[3];  // of query, key and value
  float scale;
  bool causal;
  int64_t mask_stride[4] = {};  // of batch, head, query and key
};

/// Checks dtypes, sizes and memory of all arguments and sets the sizes of the output.
Error read_attention(KernelContext& context, const arguments::fused_attention_out& args, Attention* attention);

}  // namespace berth::portable
