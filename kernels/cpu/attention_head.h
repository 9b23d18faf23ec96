// Attention of one head for a range of its queries: the work of one thread in kernels/cpu/attention.cc.
//
//   out[i, :] = sum over j of softmax_j(scale * query[i, :] . key[j, :] + mask[i, j]) * value[j, :]
//
// Processes a few rows of queries and a block of keys at a time, with the running maximum and sum of Milakov and
// Gimelshein, "Online normalizer calculation for softmax" (2018), so that no more than kAttentionRows x kAttentionKeys
// scores exist at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/portable/fused_grouped_attention.h"

namespace berth::cpu {

/// Rows of queries that are processed together.
constexpr int64_t kAttentionRows = 24;
/// The most keys of one block.
constexpr int64_t kAttentionKeys = 512;

/// Strides are in elements; the elements of a row of one head are side by side.
struct AttentionHead {
  const float* query = nullptr;
  /// Both of one type; pack_attention() widens what is not f32.
  portable::CacheRows key;
  portable::CacheRows value;
  float* out = nullptr;
  int64_t query_row = 0, key_row = 0, value_row = 0, out_row = 0;
  /// What is added to the scores (one of the two at most): numbers, or 0 where true and -infinity where false.
  const float* mask = nullptr;
  const bool* allowed = nullptr;
  int64_t mask_row = 0, mask_column = 0;
  /// Numbers that are added beside the mask; null: none.
  const float* bias = nullptr;
  int64_t bias_row = 0, bias_column = 0;
  int64_t keys = 0;
  int64_t size = 0;        // elements of a row of queries or keys
  int64_t value_size = 0;  // of values or results
  float scale = 1;
  /// Query i sees keys 0 to i.
  bool causal = false;
  /// Query i sees keys up to last[i] and after before[i], of those alone; null: all.
  /// REQUIRES: neither decreases from one query to the next; `causal` is not set.
  const int64_t* last = nullptr;
  const int64_t* before = nullptr;
  /// What these two call the first key.
  int64_t first_key = 0;
  /// What a query gives that sees no key, or whose scores are all -infinity.
  float hidden_result = std::numeric_limits<float>::quiet_NaN();
};

/// Floats of scratch memory that one thread needs, a multiple of 16. Needs the type of the keys, and no pointers.
size_t attention_scratch_floats(const AttentionHead& head);

/// Copies the keys and values of the head to `scratch`, in the order in which attend() reads them. REQUIRES: keys >= 1;
/// size >= 1; value_size >= 1; `scratch` is aligned to 64.
void pack_attention(const AttentionHead& head, float* scratch);

/// Computes rows [begin, end) of the result. REQUIRES: pack_attention(head, scratch) was the last to write `scratch`,
/// but for calls of this function.
void attend(const AttentionHead& head, int64_t begin, int64_t end, float* scratch);

}  // namespace berth::cpu
