// Attention as com.microsoft has it: Attention, MultiHeadAttention, GroupQueryAttention, PackedAttention,
// EmbedLayerNormalization, RotaryEmbedding.
//
// Source: ONNX Runtime's page on its contrib operators.
#include <algorithm>
#include <cmath>

#include "compiler/import/lowering/arithmetic.h"
#include "compiler/import/lowering/matmul.h"
#include "compiler/import/onnx/attention.h"
#include "compiler/import/onnx/operators.h"
#include "compiler/import/onnx/quantize.h"

namespace berth::onnx {
namespace {

using lowering::add;

const Dim kI64 = lowering::number_of(DType::kI64);

/// [batch, heads, length, features] each; keys and values with what came before.
struct Heads {
  ValueId query, key, value;
};

/// Who sees whom: `added` to the scores (none for nothing), then `seen` (bool; none for all).
struct Masks {
  ValueId added;
  ValueId seen;
};

ValueId row(NodeContext& n, Dim length) { return n.op(OpId::arange_start_out, {Dim(0), length, Dim(1), kI64}); }

/// Query i sees keys up to i + past: [queries, keys].
ValueId causal(NodeContext& n, Dim queries, Dim keys) {
  const ValueId ones = n.op(OpId::full_out, {DimList{queries, keys}, Dim(1), lowering::number_of(DType::kBool)});
  return n.op(OpId::tril_out, {ones, n.symbols().sub(keys, queries)});
}

ValueId scores_of(NodeContext& n, const Heads& h, double scale) {
  const int64_t features = n.fixed(n.dim(h.query, 3), "the number of features");
  if (n.ok() && features < 1) n.invalid("attention over no features");
  if (!n.ok()) return {};
  const double factor = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(features));
  const ValueId keys = repeated_heads(n, h.key, n.dim(h.query, 1));
  const ValueId across = n.op(OpId::transpose_copy_int_out, {keys, Dim(-2), Dim(-1)});
  return lowering::matmul(n, n.op(OpId::mul_Scalar_out, {h.query, factor}), across);
}

ValueId weighted(NodeContext& n, const Heads& h, ValueId scores, const Masks& masks) {
  if (masks.added.valid()) scores = add(n, scores, masks.added);
  if (masks.seen.valid()) scores = where_seen(n, masks.seen, scores);
  const ValueId weights = lowering::attention_weights(n, scores, masks.seen.valid());
  return joined_heads(n, lowering::matmul(n, weights, repeated_heads(n, h.value, n.dim(h.query, 1))));
}

/// A mask of integers, 0 for what is not seen, as what is added to the scores. By its rank: [batch], the length of each
/// row; [batch, keys]; [batch, queries, keys].
ValueId integer_mask(NodeContext& n, size_t input, Dim batch, Dim keys, DType type) {
  ValueId mask = n.input(input);
  if (n.rank(mask) == 1) {
    if (n.ok() && n.dim(mask, 0) != batch) {
      n.unsupported("a mask " + n.type_text(mask) + " that says more than the length of each row");
    }
    mask = n.op(OpId::lt_Tensor_out, {row(n, keys), n.view(n.cast(mask, DType::kI64), {batch, Dim(1)})});
  } else {
    mask = n.op(OpId::ne_Scalar_out, {mask, Dim(0)});
  }
  if (n.rank(mask) == 2) {
    mask = n.view(mask, {n.dim(mask, 0), Dim(1), Dim(1), n.dim(mask, 1)});
  } else if (n.rank(mask) == 3) {
    mask = n.view(mask, {n.dim(mask, 0), Dim(1), n.dim(mask, 1), n.dim(mask, 2)});
  } else if (n.ok()) {
    n.unsupported("a mask " + n.type_text(mask));
  }
  const ValueId hidden = n.cast(n.op(OpId::logical_not_out, {mask}), type);
  return n.op(OpId::mul_Scalar_out, {hidden, n.number("mask_filter_value", -10000)});
}

ValueId also(NodeContext& n, ValueId a, ValueId b) { return a.valid() && b.valid() ? add(n, a, b) : a.valid() ? a : b; }

/// Columns [begin, begin + count) of the bias that is input `i`; none where it is left out.
ValueId bias_part(NodeContext& n, size_t i, Dim begin, Dim count) {
  return n.has_input(i) ? n.slice(n.input(i), 0, begin, n.symbols().add(begin, count)) : ValueId();
}

ValueId plus_bias(NodeContext& n, ValueId x, ValueId bias) { return bias.valid() ? add(n, x, bias) : x; }

ValueId behind_past(NodeContext& n, size_t past, ValueId x) {
  return n.has_input(past) ? n.op(OpId::cat_out, {ValueList{n.input(past), x}, Dim(2)}) : x;
}

int64_t read_heads(NodeContext& n, const char* name) {
  const int64_t heads = n.integer(name, 0);
  if (n.ok() && (heads < 1 || heads > INT32_MAX)) n.invalid("attribute '" + std::string(name) + "' must be at least 1");
  return n.ok() ? heads : 1;
}

// Part `i` of [batch, length, heads, parts, features], as heads.
ValueId packed_part(NodeContext& n, ValueId x, int64_t i) {
  return n.permute(n.op(OpId::select_copy_int_out, {x, Dim(3), Dim(i)}), {0, 2, 1, 3});
}

/// Queries, keys and values apart, or packed: [batch, length, heads, 3, features], and keys with values likewise.
Heads read_parts(NodeContext& n, int64_t heads) {
  const ValueId q = n.input(0);
  Heads h;
  if (n.rank(q) == 5) return {packed_part(n, q, 0), packed_part(n, q, 1), packed_part(n, q, 2)};
  const Dim width = n.dim(q, 2);
  h.query = apart_heads(n, plus_bias(n, q, bias_part(n, 3, Dim(0), width)), heads);
  const ValueId k = n.input(1);
  if (n.rank(k) == 5) return {h.query, packed_part(n, k, 0), packed_part(n, k, 1)};
  const ValueId v = n.input(2);
  if (n.rank(k) == 4) return {h.query, k, v};
  const Dim second = n.symbols().add(width, n.dim(k, 2));
  h.key = apart_heads(n, plus_bias(n, k, bias_part(n, 3, width, n.dim(k, 2))), heads);
  h.value = apart_heads(n, plus_bias(n, v, bias_part(n, 3, second, n.dim(v, 2))), heads);
  return h;
}

void import_multi_head_attention(NodeContext& n) {
  if (n.has_input(8) || n.has_input(9)) return n.unsupported("caches that are shared with the result (input 8 or 9)");
  const int64_t heads = read_heads(n, "num_heads");
  if (n.ok() && n.rank(n.input(0)) == 5 && n.has_input(3)) return n.unsupported("a bias of packed queries");
  Heads h = read_parts(n, heads);
  h.key = behind_past(n, 6, h.key);
  h.value = behind_past(n, 7, h.value);
  if (!n.ok()) return;
  const Dim keys = n.dim(h.key, 2);
  Masks masks;
  if (n.has_input(4)) masks.added = integer_mask(n, 4, n.dim(h.query, 0), keys, n.dtype(h.query));
  masks.added = also(n, masks.added, optional_input(n, 5));
  if (n.integer("unidirectional", 0) != 0) masks.seen = causal(n, n.dim(h.query, 2), keys);
  const ValueId scores = scores_of(n, h, n.number("scale", 0));
  n.output(0, weighted(n, h, scores, masks));
  n.output(1, h.key);
  n.output(2, h.value);
}

/// The product of the input's rows with the weights of queries, keys and values side by side, and its bias.
Heads projected(NodeContext& n, ValueId x, int64_t heads) {
  const ValueId weights = n.input(1);
  const int64_t all = n.fixed(n.dim(weights, 1), "the number of features");
  std::vector<int64_t> sizes = n.integers("qkv_hidden_sizes");
  if (sizes.empty()) sizes.assign(3, all / 3);
  if (n.ok() && (sizes.size() != 3 || sizes[0] + sizes[1] + sizes[2] != all || sizes[0] != sizes[1])) {
    n.invalid("attribute 'qkv_hidden_sizes' does not fit the weights " + n.type_text(weights));
  }
  ValueId sum = lowering::matmul(n, x, weights);
  if (n.has_input(2)) sum = add(n, sum, n.input(2));
  const auto part = [&](int64_t begin, int64_t count) {
    return apart_heads(n, n.slice(sum, 2, begin, begin + count), heads);
  };
  if (!n.ok()) return {};
  return {part(0, sizes[0]), part(sizes[0], sizes[1]), part(sizes[0] + sizes[1], sizes[2])};
}

// Input, weights, bias, mask, past [2, batch, heads, length, features], what is added to the scores.
void import_fused_attention(NodeContext& n) {
  if (n.has_input(6)) return n.unsupported("caches that are shared with the result (input 6)");
  if (n.integer("do_rotary", 0) != 0) return n.unsupported("attribute 'do_rotary'");
  Heads h = projected(n, n.input(0), read_heads(n, "num_heads"));
  if (n.has_input(4)) {
    const auto half = [&](int64_t i) { return n.op(OpId::select_copy_int_out, {n.input(4), Dim(0), Dim(i)}); };
    h.key = n.op(OpId::cat_out, {ValueList{half(0), h.key}, Dim(2)});
    h.value = n.op(OpId::cat_out, {ValueList{half(1), h.value}, Dim(2)});
  }
  if (!n.ok()) return;
  const Dim keys = n.dim(h.key, 2);
  Masks masks;
  if (n.has_input(3)) masks.added = integer_mask(n, 3, n.dim(h.query, 0), keys, n.dtype(h.query));
  masks.added = also(n, masks.added, optional_input(n, 5));
  if (n.integer("unidirectional", 0) != 0) masks.seen = causal(n, n.dim(h.query, 2), keys);
  n.output(0, weighted(n, h, scores_of(n, h, n.number("scale", 0)), masks));
  if (n.wants_output(1)) n.output(1, n.op(OpId::stack_out, {ValueList{h.key, h.value}, Dim(0)}));
}

// Rows of several texts one after another, [tokens, features]; input 4 says where each text begins and the last ends. A
// token sees those of its own text.
void import_packed_attention(NodeContext& n) {
  if (n.has_input(5)) return n.unsupported("what is added to the scores of packed texts (input 5)");
  const ValueId x = n.input(0);
  if (n.ok() && n.rank(x) != 2) return n.invalid("expected [tokens, features], found " + n.type_text(x));
  const Dim tokens = n.dim(x, 0);
  const Heads h = projected(n, n.view(x, {Dim(1), tokens, n.dim(x, 1)}), read_heads(n, "num_heads"));
  const ValueId starts = n.cast(n.input(4), DType::kI64);
  const ValueId begun = n.op(OpId::ge_Tensor_out, {n.view(row(n, tokens), {tokens, Dim(1)}), starts});
  const ValueId text = n.op(OpId::sum_IntList_out, {n.cast(begun, DType::kI64), DimList{Dim(1)}, false, kI64});
  Masks masks;
  masks.seen = n.op(OpId::eq_Tensor_out, {n.view(text, {tokens, Dim(1)}), text});
  const ValueId y = weighted(n, h, scores_of(n, h, n.number("scale", 0)), masks);
  n.output(0, n.view(y, {tokens, n.dim(y, 2)}));
}

/// A GroupQueryAttention: where its new keys begin, a number for each row.
struct Grouped {
  int64_t heads = 1, shared = 1;
  ValueId past;  // i64 [batch]: how many keys were there before
  Dim length;    // of the new part
  Dim total;     // of the keys
};

/// New keys or values at their places behind the old ones, in a tensor of `total` places.
ValueId placed(NodeContext& n, const Grouped& g, size_t past, ValueId x) {
  if (!n.has_input(past)) return x;
  ValueId cache = n.input(past);
  const Dim before = n.dim(cache, 2);
  if (before != g.total) {
    const Dim more = n.symbols().sub(g.total, before);
    if (n.ok() && n.symbols().lower(more) < 0) {
      n.unsupported("a cache " + n.type_text(cache) + " that may be longer than all keys, total_sequence_length");
    }
    cache = n.op(OpId::constant_pad_nd_out, {cache, DimList{Dim(0), Dim(0), Dim(0), more}, 0.0});
  }
  const std::vector<Dim> shape = n.shape(x);
  if (!n.ok()) return {};
  const ValueId steps = n.view(row(n, g.length), {Dim(1), Dim(1), g.length, Dim(1)});
  const ValueId places = add(n, n.view(g.past, {shape[0], Dim(1), Dim(1), Dim(1)}), steps);
  return n.op(OpId::scatter_src_out, {cache, Dim(2), n.expand(places, shape), x});
}

ValueId turned_heads(NodeContext& n, const Grouped& g, ValueId x) {
  const Dim batch = n.dim(x, 0);
  const ValueId steps = n.view(row(n, g.length), {Dim(1), g.length});
  const ValueId at = n.has_input(9) ? n.cast(n.input(9), DType::kI64) : add(n, n.view(g.past, {batch, Dim(1)}), steps);
  const ValueId cosine = turned(n, 7, at);
  const ValueId sine = turned(n, 8, at);
  const int64_t half = n.fixed(n.dim(cosine, n.rank(cosine) - 1), "the size of a cache's row");
  const ValueId rows = n.permute(x, {0, 2, 1, 3});
  return n.permute(rotated(n, rows, cosine, sine, 2 * half, n.integer("rotary_interleaved", 0) != 0), {0, 2, 1, 3});
}

/// Query i stands at past + i among the keys: it sees those up to itself, and no more than the window holds.
ValueId seen_by_groups(NodeContext& n, const Grouped& g, Dim batch) {
  const ValueId steps = n.view(row(n, g.length), {Dim(1), Dim(1), g.length, Dim(1)});
  const ValueId places = add(n, n.view(g.past, {batch, Dim(1), Dim(1), Dim(1)}), steps);
  const ValueId back = n.op(OpId::sub_out, {places, row(n, g.total)});
  const ValueId seen = n.op(OpId::ge_Scalar_out, {back, Dim(0)});
  const int64_t window = n.integer("local_window_size", -1);
  if (window < 0) return seen;
  return n.op(OpId::logical_and_out, {seen, n.op(OpId::lt_Scalar_out, {back, Dim(window)})});
}

bool is_plain(NodeContext& n) {
  if (n.has_input(11)) n.unsupported("weights of a sink (input 11)");
  for (const char* name : {"smooth_softmax", "qk_output"}) {
    if (n.integer(name, 0) > 0) n.unsupported("attribute '" + std::string(name) + "'");
  }
  for (const char* name : {"k_quant_type", "v_quant_type"}) {
    if (n.text(name, "NONE") != "NONE") n.unsupported("quantised caches");
  }
  return n.ok();
}

void import_group_query_attention(NodeContext& n) {
  if (!is_plain(n)) return;
  Grouped g;
  g.heads = read_heads(n, "num_heads");
  g.shared = read_heads(n, "kv_num_heads");
  const ValueId x = n.input(0);
  if (n.ok() && (!n.has_input(5) || !n.has_input(6))) {
    return n.invalid("needs seqlens_k and total_sequence_length (inputs 5 and 6)");
  }
  const DimList total = n.known_dims(6, "total_sequence_length");
  if (n.ok() && (n.rank(x) != 3 || total.size() != 1)) {
    return n.invalid("expected queries [batch, length, features] and one total_sequence_length");
  }
  if (!n.ok()) return;
  g.length = n.dim(x, 1);
  g.total = n.has_input(3) && n.symbols().lower(n.symbols().sub(n.dim(n.input(3), 2), total[0])) >= 0
                ? n.dim(n.input(3), 2)
                : total[0];
  const Dim batch = n.dim(x, 0);
  // seqlens_k is one less than the keys of a row. Of a first text, padded at its end, nothing comes before.
  const ValueId counts = n.view(n.cast(n.input(5), DType::kI64), {batch});
  const ValueId before = n.op(OpId::add_Scalar_out, {counts, n.symbols().sub(Dim(1), g.length)});
  g.past = n.op(OpId::clamp_out, {before, Dim(0), None()});
  Heads h;
  if (n.has_input(1)) {
    h = {apart_heads(n, x, g.heads), apart_heads(n, n.input(1), g.shared), apart_heads(n, n.input(2), g.shared)};
  } else {
    const ValueId all = apart_heads(n, x, g.heads + 2 * g.shared);
    h = {n.slice(all, 1, 0, g.heads), n.slice(all, 1, g.heads, g.heads + g.shared),
         n.slice(all, 1, g.heads + g.shared, g.heads + 2 * g.shared)};
  }
  if (n.integer("do_rotary", 0) != 0) {
    h.query = turned_heads(n, g, h.query);
    h.key = turned_heads(n, g, h.key);
  }
  h.key = placed(n, g, 3, h.key);
  h.value = placed(n, g, 4, h.value);
  if (!n.ok()) return;
  g.total = n.dim(h.key, 2);
  ValueId scores = scores_of(n, h, n.number("scale", 0));
  const double cap = n.number("softcap", 0);
  if (cap > 0) {
    scores = n.op(OpId::mul_Scalar_out, {n.op(OpId::tanh_out, {n.op(OpId::div_Scalar_out, {scores, cap})}), cap});
  }
  Masks masks;
  masks.added = optional_input(n, 10);
  masks.seen = seen_by_groups(n, g, batch);
  n.output(0, weighted(n, h, scores, masks));
  n.output(1, h.key);
  n.output(2, h.value);
}

// The sum of a word's, a place's and a segment's rows, normalised; how many words each row's mask counts.
void import_embed_layer_normalization(NodeContext& n) {
  const ValueId words = n.cast(n.input(0), DType::kI64);
  const auto rows_of = [&](size_t table, ValueId at) { return n.op(OpId::embedding_out, {n.input(table), at}); };
  if (n.ok() && n.rank(words) != 2) return n.invalid("expected words [batch, length], found " + n.type_text(words));
  const Dim length = n.dim(words, 1);
  ValueId places = n.has_input(8) ? n.cast(n.input(8), DType::kI64) : n.view(row(n, length), {Dim(1), length});
  ValueId sum = add(n, rows_of(2, words), rows_of(3, places));
  if (n.has_input(1) && n.has_input(4)) sum = add(n, sum, rows_of(4, n.cast(n.input(1), DType::kI64)));
  if (!n.ok()) return;
  const std::vector<ValueId> results = n.ops(
      OpId::native_layer_norm_out, {sum, DimList{n.dim(sum, 2)}, n.input(5), n.input(6), n.number("epsilon", 1e-12f)});
  if (!n.ok()) return;
  n.output(0, results[0]);
  if (n.wants_output(1)) {
    ValueId count = n.op(OpId::full_out, {DimList{n.dim(words, 0)}, Dim(0), lowering::number_of(DType::kI32)});
    if (n.has_input(7)) {
      const ValueId counted = n.cast(n.op(OpId::eq_Scalar_out, {n.input(7), Dim(1)}), DType::kI32);
      count = n.op(OpId::sum_IntList_out, {counted, DimList{Dim(1)}, false, lowering::number_of(DType::kI32)});
    }
    n.output(1, count);
  }
  n.output(2, sum);
}

constexpr OperatorRow kContribAttentionRows[] = {
    {"Attention", 2, 7, import_fused_attention},
    {"EmbedLayerNormalization", 7, 9, import_embed_layer_normalization},
    {"GroupQueryAttention", 1, 14, import_group_query_attention},
    {"MultiHeadAttention", 1, 10, import_multi_head_attention},
    {"PackedAttention", 5, 6, import_packed_attention},
    {"RotaryEmbedding", 4, 4, import_contrib_rotary_embedding},
};

}  // namespace

OperatorTable contrib_attention_operators() { return kContribAttentionRows; }

}  // namespace berth::onnx
