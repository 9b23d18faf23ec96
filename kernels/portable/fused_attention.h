// The arguments of berth::attention and berth::attention.biased, checked once for every kernel of them.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::portable {

/// Of either operator. Head `h` has the columns [column + h * head_size, column + (h + 1) * head_size) of each of the
/// three, which are [batch, tokens, columns], row-major f32.
struct Attention {
  explicit Attention(const arguments::fused_attention_out& args) : Attention(args, nullptr, args.mask, args.causal) {}
  explicit Attention(const arguments::fused_attention_biased_out& args)
      : Attention(args, &args.bias, &args.mask, false) {}

  const Tensor* query;
  const Tensor* key;
  const Tensor* value;
  const Tensor* bias;  // f32, added to the scores; may be null
  const Tensor* mask;  // f32, added to the scores, or bool; may be null
  Tensor* out;
  int64_t heads, head_size;
  int64_t column[3];  // of query, key and value
  float scale;
  bool causal;
  int64_t bias_stride[4] = {};  // of batch, head, query and key
  int64_t mask_stride[4] = {};

 private:
  template <typename Args>
  Attention(const Args& args, const Tensor* added, const Tensor* masked, bool is_causal)
      : query(&args.query),
        key(&args.key),
        value(&args.value),
        bias(added),
        mask(masked),
        out(&args.out),
        heads(args.heads),
        head_size(args.head_size),
        column{args.query_column, args.key_column, args.value_column},
        scale(static_cast<float>(args.scale)),
        causal(is_causal) {}
};

/// Checks dtypes, sizes and memory of all arguments, and sets the strides of the masks and the sizes of the output.
Error prepare_attention(KernelContext& context, Attention* attention);

}  // namespace berth::portable
