// Attention of one query of the heads that share one head of keys: the work of decoding a token. Keys and values are
// read once for up to four heads at a time, and only those that the query sees.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/portable/fused_grouped_attention.h"

namespace berth::cpu {

/// Strides are in elements.
struct GroupedRows {
  const float* query = nullptr;  // of the first head
  portable::CacheRows key;       // of the group's first key
  portable::CacheRows value;
  float* out = nullptr;  // of the first head
  int64_t query_head = 0, out_head = 0;
  int64_t key_row = 0, value_row = 0;  // from one key to the next
  /// What is added to the scores (one of the two at most): numbers, or 0 where true and -infinity where false; of the
  /// first head and key 0.
  const float* mask = nullptr;
  const bool* allowed = nullptr;
  int64_t mask_head = 0, mask_column = 0;
  int64_t heads = 0, size = 0, value_size = 0;
  int64_t first = 0, end = 0;  // the keys that the query sees
  float scale = 1;
  float hidden_result = 0;  // of a query whose scores are all -infinity
};

/// Floats of scratch memory that one thread needs for at most `keys` keys, a multiple of 16.
size_t grouped_rows_scratch_floats(int64_t heads, int64_t keys);

/// REQUIRES: `scratch` has that many floats; 0 <= first; end <= the number of keys.
void attend_grouped_rows(const GroupedRows& rows, float* scratch);

}  // namespace berth::cpu
