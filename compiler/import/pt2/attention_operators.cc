// Attention: softmax(Q K^T / √d + mask) V, and what PyTorch's fused operators make around it.
#include <cmath>

#include "compiler/import/lowering/arithmetic.h"
#include "compiler/import/lowering/matmul.h"
#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

struct Attention {
  ValueId query, key, value;  // […, length, features]
  ValueId mask;               // bools to keep, or numbers to add; may be none
  bool causal = false;
  double scale = 0;  // 0: 1 / √features
};

// Places that a row may look at: those up to its own.
ValueId causal_mask(NodeContext& n, ValueId scores) {
  const int rank = n.rank(scores);
  const ValueId ones = n.op(
      OpId::full_out, {DimList{n.dim(scores, rank - 2), n.dim(scores, rank - 1)}, Dim(1), number_of(DType::kBool)});
  return n.op(OpId::tril_out, {ones, Dim(0)});
}

ValueId masked(NodeContext& n, ValueId scores, ValueId mask) {
  if (!mask.valid()) return scores;
  if (n.dtype(mask) != DType::kBool) return add(n, scores, mask);
  return n.op(OpId::where_self_out, {mask, scores, n.splat(n.dtype(scores), {}, -HUGE_VAL)});
}

ValueId transposed(NodeContext& n, ValueId x) { return n.op(OpId::transpose_copy_int_out, {x, Dim(-2), Dim(-1)}); }

ValueId attention(NodeContext& n, const Attention& a) {
  const int64_t features = n.fixed(n.dim(a.query, n.rank(a.query) - 1), "the number of features");
  if (n.ok() && features < 1) n.invalid("attention over no features");
  const double scale = a.scale != 0 ? a.scale : 1 / std::sqrt(static_cast<double>(features));
  const ValueId query = n.op(OpId::mul_Scalar_out, {a.query, scale});
  ValueId scores = lowering::matmul(n, query, transposed(n, a.key));
  if (a.causal) scores = masked(n, scores, causal_mask(n, scores));
  scores = masked(n, scores, a.mask);
  return lowering::matmul(n, attention_weights(n, scores, a.mask.valid()), a.value);
}

// Heads of keys and values that several heads of queries share are repeated.
ValueId repeated_heads(NodeContext& n, ValueId x, Dim heads) {
  const std::vector<Dim> shape = n.shape(x);
  if (!n.ok() || shape.size() < 3 || shape[shape.size() - 3] == heads) return x;
  const size_t at = shape.size() - 3;
  if (n.symbols().lower(shape[at]) < 1) return n.invalid("no head of keys"), x;
  std::vector<Dim> wide = shape;
  wide.insert(wide.begin() + static_cast<std::ptrdiff_t>(at) + 1, Dim(1));
  const ValueId apart = n.view(x, wide);
  wide[at + 1] = n.symbols().floor_div(heads, shape[at]);
  std::vector<Dim> all = shape;
  all[at] = heads;
  return n.view(n.expand(apart, wide), all);
}

void import_attention(NodeContext& n) {
  Attention a;
  a.query = n.tensor("query");
  a.key = n.tensor("key");
  a.value = n.tensor("value");
  if (n.number("dropout_p", 0) != 0) return n.unsupported("training drops random elements; export in eval mode");
  if (n.truth("enable_gqa", false)) {
    const Dim heads = n.dim(a.query, n.rank(a.query) - 3);
    a.key = repeated_heads(n, a.key, heads);
    a.value = repeated_heads(n, a.value, heads);
  }
  for (const char* name : {"attn_mask", "attn_bias"}) {
    if (n.has(name)) a.mask = n.tensor(name);
  }
  a.causal = n.truth("is_causal", false);
  a.scale = n.number("scale", 0);
  if (n.ok() && n.rank(a.query) < 2) return n.invalid("needs […, length, features]");
  n.output(attention(n, a));
  for (size_t i = 1; i < n.output_count(); ++i) n.unknown_output(i, "is what training needs");
}

// [batch, length, heads · features] → [batch, heads, length, features]
ValueId split_heads(NodeContext& n, ValueId x, int64_t heads, int64_t features) {
  return n.permute(n.view(x, {n.dim(x, 0), n.dim(x, 1), Dim(heads), Dim(features)}), {0, 2, 1, 3});
}

/// What _native_multi_head_attention and the encoder layer share: projections in one matrix.
struct Heads {
  int64_t embed = 0, heads = 0;
  ValueId in_weight, in_bias, out_weight, out_bias;
  ValueId mask;  // bools, true for places that are left out
};

ValueId self_attention(NodeContext& n, ValueId x, const Heads& h) {
  if (n.ok() && (h.heads < 1 || h.embed < 1 || h.embed % h.heads != 0 || n.rank(x) != 3)) {
    n.invalid("needs [batch, length, features] and heads that divide the features");
  }
  if (!n.ok()) return {};
  const ValueId all = lowering::linear(n, x, h.in_weight, h.in_bias);
  const std::vector<ValueId> parts =
      n.ops(OpId::split_with_sizes_copy_out, {all, ir::dims({h.embed, h.embed, h.embed}), Dim(2)});
  if (!n.ok()) return {};
  Attention a;
  const int64_t features = h.embed / h.heads;
  a.query = split_heads(n, parts[0], h.heads, features);
  a.key = split_heads(n, parts[1], h.heads, features);
  a.value = split_heads(n, parts[2], h.heads, features);
  if (h.mask.valid()) a.mask = n.op(OpId::logical_not_out, {h.mask});
  const ValueId y = n.permute(attention(n, a), {0, 2, 1, 3});
  const std::vector<Dim> shape = n.shape(x);
  return lowering::linear(n, n.view(y, {shape[0], shape[1], Dim(h.embed)}), h.out_weight, h.out_bias);
}

// 0: one mask for all, [length, length]; 1: places to leave out, [batch, length]; 2: for each batch and head.
ValueId read_mask(NodeContext& n) {
  if (!n.has("mask")) return {};
  const ValueId mask = n.tensor("mask");
  if (n.integer("mask_type", 0) != 1) return mask;
  return n.view(mask, {n.dim(mask, 0), Dim(1), Dim(1), n.dim(mask, 1)});
}

ValueId layer_norm(NodeContext& n, ValueId x, const char* weight, const char* bias, int64_t embed) {
  return n.op(OpId::native_layer_norm_out,
              {x, ir::dims({embed}), n.tensor(weight), n.tensor(bias), n.number("eps", 1e-5)});
}

void import_encoder_layer(NodeContext& n) {
  Heads h;
  h.embed = n.integer("embed_dim", 0);
  h.heads = n.integer("num_heads", 0);
  h.in_weight = n.tensor("qkv_weight");
  h.in_bias = n.tensor("qkv_bias");
  h.out_weight = n.tensor("proj_weight");
  h.out_bias = n.tensor("proj_bias");
  h.mask = read_mask(n);
  const bool first = n.truth("norm_first", false);
  const bool gelu = n.truth("use_gelu", false);
  ValueId x = n.tensor("src");
  const auto norm_1 = [&](ValueId v) { return layer_norm(n, v, "norm_weight_1", "norm_bias_1", h.embed); };
  const auto norm_2 = [&](ValueId v) { return layer_norm(n, v, "norm_weight_2", "norm_bias_2", h.embed); };
  const auto feed = [&](ValueId v) {
    v = lowering::linear(n, v, n.tensor("ffn_weight_1"), n.tensor("ffn_bias_1"));
    v = gelu ? n.op(OpId::gelu_out, {v}) : n.op(OpId::relu_out, {v});
    return lowering::linear(n, v, n.tensor("ffn_weight_2"), n.tensor("ffn_bias_2"));
  };
  x = first ? add(n, x, self_attention(n, norm_1(x), h)) : norm_1(add(n, x, self_attention(n, x, h)));
  n.output(first ? add(n, x, feed(norm_2(x))) : norm_2(add(n, x, feed(x))));
}

void import_multi_head(NodeContext& n) {
  const ValueId query = n.tensor("query");
  if (n.ok() && (query != n.tensor("key") || query != n.tensor("value"))) {
    return n.unsupported("keys and values that are not the queries");
  }
  Heads h;
  h.embed = n.integer("embed_dim", 0);
  h.heads = n.integer("num_head", 0);
  h.in_weight = n.tensor("qkv_weight");
  h.in_bias = n.tensor("qkv_bias");
  h.out_weight = n.tensor("proj_weight");
  h.out_bias = n.tensor("proj_bias");
  h.mask = read_mask(n);
  n.output(self_attention(n, query, h));
  n.unknown_output(1, "is the attention's weights; pass need_weights=False");
}

constexpr OperatorRow kAttentionRows[] = {
    {"_native_multi_head_attention", import_multi_head},
    {"_scaled_dot_product_efficient_attention", import_attention},
    {"_scaled_dot_product_flash_attention", import_attention},
    {"_scaled_dot_product_flash_attention_for_cpu", import_attention},
    {"_transformer_encoder_layer_fwd", import_encoder_layer},
    {"scaled_dot_product_attention", import_attention},
};

}  // namespace

OperatorTable attention_operators() { return kAttentionRows; }

}  // namespace berth::pt2
