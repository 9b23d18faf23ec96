// The arguments of berth::attention and berth::attention.biased, checked once for every kernel of them.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::portable {

/// The arguments of either operator.
struct AttentionOperands {
  explicit AttentionOperands(const arguments::fused_attention_out& args)
      : AttentionOperands(args, nullptr, args.mask, args.causal) {}
  explicit AttentionOperands(const arguments::fused_attention_biased_out& args)
      : AttentionOperands(args, &args.bias, &args.mask, false) {}

  const Tensor& query;
  const Tensor& key;
  const Tensor& value;
  const Tensor* bias;
  const Tensor* mask;
  int64_t heads, head_size;
  int64_t column[3];  // of query, key and value
  double scale;
  bool causal;
  Tensor& out;

 private:
  template <typename Args>
  AttentionOperands(const Args& args, const Tensor* added, const Tensor* masked, bool is_causal)
      : query(args.query),
        key(args.key),
        value(args.value),
        bias(added),
        mask(masked),
        heads(args.heads),
        head_size(args.head_size),
        column{args.query_column, args.key_column, args.value_column},
        scale(args.scale),
        causal(is_causal),
        out(args.out) {}
};

/// Head `h` has the columns [column + h * head_size, column + (h + 1) * head_size) of each of the three, which are
/// [batch, tokens, columns], row-major f32.
struct Attention {
  const Tensor* query;
  const Tensor* key;
  const Tensor* value;
  const Tensor* bias;  // f32, added to the scores; may be null
  const Tensor* mask;  // f32, added to the scores, or bool; may be null
  int64_t heads, head_size;
  int64_t column[3];  // of query, key and value
  float scale;
  bool causal;
  int64_t bias_stride[4] = {};  // of batch, head, query and key
  int64_t mask_stride[4] = {};
};

/// Checks dtypes, sizes and memory of all arguments and sets the sizes of the output.
Error read_attention(KernelContext& context, const AttentionOperands& args, Attention* attention);

}  // namespace berth::portable
