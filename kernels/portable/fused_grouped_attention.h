// The arguments of berth::grouped_attention, checked once for every kernel of it.
//
//     out[b, h, i, :] = sum over j of softmax_j(scale * query[b, h, i, :] . key[b, g, j, :] + mask) * value[b, g, j, :]
//
// with g = h / (heads / groups): several heads of queries read one head of keys. Query i sees the keys j with
// before[i] < j <= last[i], where these are given. Keys that no query sees are not read; one that only others see counts
// with a weight of 0, like one that a mask hides. A query whose scores are all -infinity, or that sees no key, gives NaN,
// as softmax does; `guarded` makes that zeros, as PyTorch's scaled_dot_product_attention has it.
#pragma once

#include "base/half.h"
#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::portable {

/// Keys or values: f32, or bf16, which are widened as they are read.
struct CacheRows {
  const float* wide = nullptr;  // one of the two
  const BFloat16* narrow = nullptr;

  float at(int64_t i) const { return narrow == nullptr ? wide[i] : static_cast<float>(narrow[i]); }
  CacheRows from(int64_t i) const {
    return narrow == nullptr ? CacheRows{wide + i, nullptr} : CacheRows{nullptr, narrow + i};
  }
};

/// Query [batch, heads, queries, size] of f32, key [batch, groups, keys, size] and value [batch, groups, keys, value_size],
/// both of f32 or both of bf16; all row-major.
struct GroupedAttention {
  const float* query;
  CacheRows key;
  CacheRows value;
  float* out;
  const Tensor* mask;     // f32, added to the scores, or bool; may be null
  const int64_t* last;    // of each query; may be null
  const int64_t* before;  // the same
  int64_t batch, heads, groups, queries, keys, size, value_size;
  float scale;
  bool guarded;
  int64_t mask_stride[4];  // of batch, head, query and key; 0 where it stretches

  int64_t heads_per_group() const { return heads / groups; }
  /// The keys [begin, end) that query `i` sees, those of the mask apart.
  int64_t first_key(int64_t i) const;
  int64_t end_key(int64_t i) const;
  /// What a query gives whose scores are all -infinity.
  float hidden_result() const;
  /// What is added to the score of a key: 0 or a number of the mask, -infinity where it hides the key.
  float mask_at(int64_t b, int64_t head, int64_t i, int64_t j) const;
};

/// Checks dtypes, sizes and memory of all arguments and sets the sizes of the output.
Error read_grouped_attention(KernelContext& context, const arguments::grouped_attention_out& args,
                             GroupedAttention* attention);

}  // namespace berth::portable
