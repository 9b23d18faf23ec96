// Attention over caches of keys and values, [batch, rows, heads, features], as ExecuTorch's operators of language
// models have it (llama::sdpa_with_kv_cache, custom_sdpa, update_cache; executorch/extension/llm/custom_ops), in
// operators of the IR.
#pragma once

#include "compiler/import/lowering/lowering.h"

namespace berth::lowering {

/// `cache` with `rows` in place of its rows from `start` on, a Dim or a tensor with one whole number. Rows behind the
/// end of the cache are an error of the run.
ValueId put_rows(Lowering& n, ValueId cache, ValueId rows, const Argument& start);

/// The same where each of `rows`, by batch, has its own place: `places` is [batch, rows].
ValueId put_rows_at(Lowering& n, ValueId cache, ValueId rows, ValueId places);

struct CachedAttention {
  ValueId query, keys, values;  // keys and values are caches
  Argument start;               // the place of the first query, as in put_rows()
  ValueId mask;                 // numbers to add, [queries, rows of the cache]; may be none
  bool causal = false;  // without a mask: each query sees the rows up to its own, otherwise up to the last one's
  double scale = 0;     // 0: 1 / √features
};

/// The result is as `query` is. Sums are of f32 whatever the element type.
ValueId cached_attention(Lowering& n, const CachedAttention& a);

}  // namespace berth::lowering
