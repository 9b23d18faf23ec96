// Attention over keys and values, its caches among them; rotary position embeddings.
//
// Source: the pages of ONNX on Attention and RotaryEmbedding.
#include <cmath>

#include "compiler/import/lowering/arithmetic.h"
#include "compiler/import/lowering/matmul.h"
#include "compiler/import/onnx/operators.h"
#include "compiler/import/onnx/quantize.h"

namespace berth::onnx {
namespace {

// [batch, length, heads · features] → [batch, heads, length, features]; what has four dimensions is as it is.
ValueId split_heads(NodeContext& n, ValueId x, const char* heads_attribute) {
  if (n.rank(x) == 4 || !n.ok()) return x;
  const int64_t heads = n.integer(heads_attribute, 0);
  const int64_t all = n.fixed(n.dim(x, 2), "the number of features");
  if (n.rank(x) != 3 || heads < 1 || all % heads != 0) {
    n.invalid("needs [batch, heads, length, features], or [batch, length, features] and attribute '" +
              std::string(heads_attribute) + "' that divides the features; found " + n.type_text(x));
  }
  if (!n.ok()) return {};
  return n.permute(n.view(x, {n.dim(x, 0), n.dim(x, 1), Dim(heads), Dim(all / heads)}), {0, 2, 1, 3});
}

ValueId joined_heads(NodeContext& n, ValueId x) {
  const ValueId rows = n.permute(x, {0, 2, 1, 3});
  return n.view(rows, {n.dim(rows, 0), n.dim(rows, 1), n.symbols().mul(n.dim(rows, 2), n.dim(rows, 3))});
}

// Heads of keys and values that several heads of queries share are repeated.
ValueId repeated_heads(NodeContext& n, ValueId x, Dim wanted) {
  if (!n.ok() || n.dim(x, 1) == wanted) return x;
  const int64_t heads = n.fixed(n.dim(x, 1), "the number of heads");
  const int64_t all = n.fixed(wanted, "the number of heads");
  if (n.ok() && (heads < 1 || all % heads != 0)) {
    n.invalid(std::to_string(all) + " heads of queries do not share " + std::to_string(heads) + " of keys");
  }
  if (!n.ok()) return {};
  const std::vector<Dim> s = n.shape(x);
  const ValueId apart = n.view(x, {s[0], s[1], Dim(1), s[2], s[3]});
  return n.view(n.expand(apart, {s[0], s[1], Dim(all / heads), s[2], s[3]}), {s[0], wanted, s[2], s[3]});
}

ValueId with_past(NodeContext& n, ValueId x, size_t past) {
  return n.has_input(past) ? n.op(OpId::cat_out, {ValueList{n.input(past), x}, Dim(2)}) : x;
}

struct Scores {
  Dim queries, keys, past;
};

// Row i sees key j where j - i is at most `past`.
ValueId causal_mask(NodeContext& n, const Scores& s) {
  const ValueId ones = n.op(OpId::full_out, {DimList{s.queries, s.keys}, Dim(1), lowering::number_of(DType::kBool)});
  return n.op(OpId::tril_out, {ones, s.past});
}

ValueId where_seen(NodeContext& n, ValueId seen, ValueId scores) {
  return n.op(OpId::where_self_out, {seen, scores, n.splat(n.dtype(scores), {}, -HUGE_VAL)});
}

// A mask may be shorter than the keys: the rest is not seen.
ValueId whole_mask(NodeContext& n, ValueId mask, Dim keys) {
  const int rank = n.rank(mask);
  if (n.ok() && (rank < 1 || rank > 4)) n.invalid("a mask " + n.type_text(mask) + " has no place among the scores");
  if (n.ok() && n.dtype(mask) != DType::kBool && !is_floating(n.dtype(mask))) {
    n.invalid("a mask must be bool or floating-point, found " + n.type_text(mask));
  }
  const Dim length = n.dim(mask, rank - 1);
  if (!n.ok() || length == keys) return mask;
  const Dim missing = n.symbols().sub(keys, length);
  if (!missing.is_constant() || missing.value < 0) {
    n.invalid("a mask " + n.type_text(mask) + " does not fit the keys");
    return {};
  }
  const DimList behind{Dim(0), missing};
  if (n.dtype(mask) == DType::kBool) return n.op(OpId::constant_pad_nd_out, {mask, behind, Dim(0)});
  return n.op(OpId::constant_pad_nd_out, {mask, behind, -HUGE_VAL});
}

DType softmax_type(NodeContext& n, DType type) {
  if (!n.has_attribute("softmax_precision")) return type;
  DType named = type;
  if (!dtype_of(static_cast<int32_t>(n.integer("softmax_precision", 0)), &named) || !is_floating(named)) {
    n.unsupported("attribute 'softmax_precision' names no floating-point type");
  }
  return named;
}

void import_attention(NodeContext& n) {
  if (n.has_input(6)) return n.unsupported("keys that are counted at run time (nonpad_kv_seqlen)");
  for (const char* window : {"left_window_size", "right_window_size"}) {
    if (n.integer(window, -1) >= 0) return n.unsupported("attribute '" + std::string(window) + "'");
  }
  const bool joined = n.rank(n.input(0)) == 3;
  const ValueId query = split_heads(n, n.input(0), "q_num_heads");
  const ValueId key = with_past(n, split_heads(n, n.input(1), "kv_num_heads"), 4);
  const ValueId value = with_past(n, split_heads(n, n.input(2), "kv_num_heads"), 5);
  const int64_t features = n.fixed(n.dim(query, 3), "the number of features");
  if (n.ok() && (features < 1 || n.rank(key) != 4 || n.rank(value) != 4)) {
    return n.invalid("attention over no features");
  }
  const double scale = n.number("scale", 1 / std::sqrt(static_cast<double>(features)));
  const double cap = n.number("softcap", 0);
  const DType type = n.dtype(query);
  const Dim heads = n.dim(query, 1);
  const ValueId keys = n.op(OpId::transpose_copy_int_out, {repeated_heads(n, key, heads), Dim(-2), Dim(-1)});
  ValueId scores = lowering::matmul(n, n.op(OpId::mul_Scalar_out, {query, scale}), keys);
  const int64_t mode = n.integer("qk_matmul_output_mode", 0);
  // Opset 23 has softcap behind the mask in its text, before it in what it computes, as later ones have it.
  if (mode == 0 && cap == 0) n.output(3, scores);
  if (cap > 0) {
    const ValueId part = n.op(OpId::tanh_out, {n.op(OpId::div_Scalar_out, {scores, cap})});
    scores = n.op(OpId::mul_Scalar_out, {part, cap});
  }
  if ((mode == 0 && cap != 0) || mode == 1) n.output(3, scores);
  const bool causal = n.integer("is_causal", 0) != 0;
  if (causal) {
    const Dim past = n.has_input(4) ? n.dim(n.input(4), 2) : Dim(0);
    scores = where_seen(n, causal_mask(n, {n.dim(query, 2), n.dim(key, 2), past}), scores);
  }
  if (n.has_input(3)) {
    const ValueId mask = whole_mask(n, n.input(3), n.dim(key, 2));
    scores = n.dtype(mask) == DType::kBool ? where_seen(n, mask, scores) : n.op(OpId::add_out, {scores, mask});
  }
  if (mode == 2) n.output(3, scores);
  const DType wide = softmax_type(n, type);
  const ValueId weights = n.cast(attention_weights(n, n.cast(scores, wide), causal || n.has_input(3)), type);
  if (mode == 3) n.output(3, weights);
  const ValueId y = lowering::matmul(n, weights, repeated_heads(n, value, heads));
  n.output(0, joined ? joined_heads(n, y) : y);
  n.output(1, key);
  n.output(2, value);
}

/// One of the two caches, as what multiplies [batch, length, heads, half]; `positions` may be none.
ValueId turned(NodeContext& n, size_t cache, ValueId positions) {
  ValueId c = n.input(cache);
  if (positions.valid()) {
    const ValueId at = n.cast(positions, DType::kI64);
    c = n.op(OpId::index_Tensor_out, {c, ValueList{at}});
  }
  if (n.ok() && n.rank(c) != 2 && n.rank(c) != 3) n.invalid("a cache " + n.type_text(c) + " has no place in the input");
  std::vector<Dim> shape = n.shape(c);
  if (n.ok()) shape.insert(shape.end() - 1, Dim(1));
  return n.view(c, shape);
}

ValueId part(NodeContext& n, ValueId x, int64_t begin, int64_t end, int64_t step) {
  return n.op(OpId::slice_copy_Tensor_out, {x, Dim(3), Dim(begin), Dim(end), Dim(step)});
}

/// `x` is [batch, length, heads, features]; the first `count` of the features turn.
ValueId rotated(NodeContext& n, ValueId x, ValueId cosine, ValueId sine, int64_t count, bool interleaved) {
  const int64_t features = n.fixed(n.dim(x, 3), "the number of features");
  if (n.ok() && (count < 2 || count % 2 != 0 || count > features)) {
    n.invalid("the part of the features that turns must be even and at most all of them, found " +
              std::to_string(count) + " of " + std::to_string(features));
  }
  const Dim half(count / 2);
  for (const ValueId cache : {cosine, sine}) {
    if (n.ok() && n.dim(cache, n.rank(cache) - 1) != half) {
      n.invalid("a cache must hold " + std::to_string(count / 2) + " numbers a position, found " + n.type_text(cache));
    }
  }
  if (!n.ok()) return {};
  const int64_t step = interleaved ? 2 : 1;
  const ValueId a = part(n, x, 0, interleaved ? count : count / 2, step);
  const ValueId b = part(n, x, interleaved ? 1 : count / 2, count, step);
  const auto product = [&](ValueId l, ValueId r) { return n.op(OpId::mul_out, {l, r}); };
  const ValueId real = n.op(OpId::sub_out, {product(a, cosine), product(b, sine)});
  const ValueId imaginary = n.op(OpId::add_out, {product(a, sine), product(b, cosine)});
  ValueId y;
  if (interleaved) {
    y = n.op(OpId::stack_out, {ValueList{real, imaginary}, Dim(-1)});
    std::vector<Dim> shape = n.shape(x);
    shape[3] = Dim(count);
    y = n.view(y, shape);
  } else {
    y = n.op(OpId::cat_out, {ValueList{real, imaginary}, Dim(3)});
  }
  if (count == features) return y;
  return n.op(OpId::cat_out, {ValueList{y, part(n, x, count, features, 1)}, Dim(3)});
}

/// Both versions of the operator, which differ in the order of their inputs.
void rotate(NodeContext& n, size_t cosine, size_t sine, size_t positions) {
  const ValueId x = n.input(0);
  ValueId rows = x;
  if (n.rank(x) == 4) rows = n.permute(x, {0, 2, 1, 3});
  const std::vector<Dim> shape = n.shape(x);
  if (n.ok() && n.rank(x) == 3) {
    const int64_t all = n.fixed(n.dim(x, 2), "the number of features");
    const int64_t heads = n.integer("num_heads", 0);
    if (n.ok() && (heads < 1 || all % heads != 0)) return n.invalid("attribute 'num_heads' must divide the features");
    if (n.ok()) rows = n.view(x, {shape[0], shape[1], Dim(heads), Dim(all / heads)});
  } else if (n.ok() && n.rank(x) != 4) {
    return n.invalid("expected three or four dimensions, found " + n.type_text(x));
  }
  const ValueId at = optional_input(n, positions);
  const ValueId c = turned(n, cosine, at);
  const ValueId s = turned(n, sine, at);
  const int64_t features = n.fixed(n.dim(rows, 3), "the number of features");
  const int64_t count = n.integer("rotary_embedding_dim", 0);
  const ValueId y = rotated(n, rows, c, s, count == 0 ? features : count, n.integer("interleaved", 0) != 0);
  n.output(0, n.rank(x) == 4 ? n.permute(y, {0, 2, 1, 3}) : n.view(y, shape));
}

void import_rotary_embedding(NodeContext& n) { rotate(n, 1, 2, 3); }

constexpr OperatorRow kAttentionRows[] = {
    {"Attention", 3, 7, import_attention},
    {"RotaryEmbedding", 3, 4, import_rotary_embedding},
};

}  // namespace

OperatorTable attention_operators() { return kAttentionRows; }

}  // namespace berth::onnx
