// Attention over keys and values, its caches among them; rotary position embeddings.
//
// Source: the pages of ONNX on Attention, FlexAttention and RotaryEmbedding.
#include <cmath>

#include "compiler/import/lowering/arithmetic.h"
#include "compiler/import/lowering/matmul.h"
#include "compiler/import/onnx/attention.h"
#include "compiler/import/onnx/import_graph.h"
#include "compiler/import/onnx/operators.h"
#include "compiler/import/onnx/quantize.h"

namespace berth::onnx {

ValueId apart_heads(NodeContext& n, ValueId x, int64_t heads) {
  const int64_t all = n.fixed(n.dim(x, 2), "the number of features");
  if (n.ok() && (n.rank(x) != 3 || heads < 1 || all % heads != 0)) {
    n.invalid("needs [batch, length, features] and a number of heads that divides the features; found " +
              n.type_text(x) + " and " + std::to_string(heads));
  }
  if (!n.ok()) return {};
  return n.permute(n.view(x, {n.dim(x, 0), n.dim(x, 1), Dim(heads), Dim(all / heads)}), {0, 2, 1, 3});
}

ValueId joined_heads(NodeContext& n, ValueId x) {
  const ValueId rows = n.permute(x, {0, 2, 1, 3});
  return n.view(rows, {n.dim(rows, 0), n.dim(rows, 1), n.symbols().mul(n.dim(rows, 2), n.dim(rows, 3))});
}

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

namespace {

// What has four dimensions is as it is.
ValueId split_heads(NodeContext& n, ValueId x, const char* heads_attribute) {
  return n.rank(x) == 4 ? x : apart_heads(n, x, n.integer(heads_attribute, 0));
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

/// Which keys a query sees by its place alone. Query i stands at place i + offset among the keys.
struct Sight {
  bool causal = false;
  int64_t left = -1;   // how far back it sees; -1: to the first
  int64_t right = -1;  // how far ahead; -1: to the last
  ValueId counts;      // [batch]: how many keys are there, where that is counted at run time

  bool limited() const { return causal || left >= 0 || right >= 0 || counts.valid(); }
  bool only_causal() const { return causal && left < 0 && right < 0 && !counts.valid(); }
};

Sight read_sight(NodeContext& n) {
  Sight sight;
  sight.causal = n.integer("is_causal", 0) != 0;
  sight.left = n.integer("left_window_size", -1);
  sight.right = n.integer("right_window_size", -1);
  if (sight.left < -1 || sight.right < -1) n.invalid("the sizes of windows must be at least -1");
  if (n.has_input(6)) {
    sight.counts = n.view(n.cast(n.input(6), DType::kI64), {n.dim(n.input(0), 0), Dim(1), Dim(1), Dim(1)});
    if (n.has_input(4) || n.has_input(5)) n.invalid("nonpad_kv_seqlen and past keys exclude each other");
  }
  return sight;
}

// [queries, keys], or [batch, 1, queries, keys] where keys are counted at run time.
ValueId seen_by_place(NodeContext& n, const Sight& sight, const Scores& s) {
  if (sight.only_causal()) return causal_mask(n, s);
  const Dim i64 = lowering::number_of(DType::kI64);
  const ValueId keys = n.op(OpId::arange_start_out, {Dim(0), s.keys, Dim(1), i64});
  ValueId queries = n.op(OpId::arange_start_out, {s.past, n.symbols().add(s.past, s.queries), Dim(1), i64});
  queries = n.view(queries, {s.queries, Dim(1)});
  ValueId seen;
  const auto also = [&](ValueId one) { seen = seen.valid() ? n.op(OpId::logical_and_out, {seen, one}) : one; };
  if (sight.counts.valid()) {
    also(n.op(OpId::lt_Tensor_out, {keys, sight.counts}));
    const ValueId offset = n.op(OpId::add_Scalar_out, {sight.counts, n.symbols().sub(Dim(0), s.queries)});
    queries = n.op(OpId::add_out, {queries, offset});
  }
  if (!sight.causal && sight.left < 0 && sight.right < 0) return seen;
  const ValueId back = n.op(OpId::sub_out, {queries, keys});
  if (sight.left >= 0) also(n.op(OpId::le_Scalar_out, {back, Dim(sight.left)}));
  const int64_t ahead = sight.causal ? 0 : sight.right;
  if (ahead >= 0) also(n.op(OpId::ge_Scalar_out, {back, Dim(-ahead)}));
  return seen;
}

}  // namespace

ValueId where_seen(NodeContext& n, ValueId seen, ValueId scores) {
  return n.op(OpId::where_self_out, {seen, scores, n.splat(n.dtype(scores), {}, -HUGE_VAL)});
}

namespace {

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
  const Sight sight = read_sight(n);
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
  if (sight.limited()) {
    const Dim past = n.has_input(4) ? n.dim(n.input(4), 2) : Dim(0);
    scores = where_seen(n, seen_by_place(n, sight, {n.dim(query, 2), n.dim(key, 2), past}), scores);
  }
  if (n.has_input(3)) {
    const ValueId mask = whole_mask(n, n.input(3), n.dim(key, 2));
    scores = n.dtype(mask) == DType::kBool ? where_seen(n, mask, scores) : n.op(OpId::add_out, {scores, mask});
  }
  if (mode == 2) n.output(3, scores);
  const DType wide = softmax_type(n, type);
  const ValueId weights = n.cast(attention_weights(n, n.cast(scores, wide), sight.limited() || n.has_input(3)), type);
  if (mode == 3) n.output(3, weights);
  const ValueId y = lowering::matmul(n, weights, repeated_heads(n, value, heads));
  n.output(0, joined ? joined_heads(n, y) : y);
  n.output(1, key);
  n.output(2, value);
}

/// `x` through the graph that is attribute `name`, where the node has it.
ValueId modified(NodeContext& n, const char* name, ValueId x) {
  if (!n.ok() || !n.has_attribute(name)) return x;
  const Graph* graph = n.graph(name);
  if (graph == nullptr) return x;
  Operand operand;
  operand.id = x;
  const std::vector<Operand> results = n.state().importer->import_within(n, *graph, {operand}, nullptr);
  if (!n.ok()) return x;
  if (results.size() != 1 || !results[0].id.valid()) {
    n.unsupported("the graph '" + std::string(name) + "' must give one tensor that depends on its input");
    return x;
  }
  return results[0].id;
}

// Attention whose scores and probabilities go through graphs of the model's.
void import_flex_attention(NodeContext& n) {
  const ValueId query = n.input(0);
  const ValueId key = n.input(1);
  const ValueId value = n.input(2);
  for (ValueId v : {query, key, value}) {
    if (n.ok() && n.rank(v) != 4)
      return n.invalid("expected [batch, heads, length, features], found " + n.type_text(v));
  }
  const int64_t features = n.fixed(n.dim(query, 3), "the number of features");
  if (n.ok() && features < 1) return n.invalid("attention over no features");
  const DType type = n.dtype(query);
  const DType wide = softmax_type(n, type == DType::kF64 ? type : DType::kF32);
  const double scale = n.number("scale", 1 / std::sqrt(static_cast<double>(features)));
  const Dim heads = n.dim(query, 1);
  const ValueId keys = n.op(OpId::transpose_copy_int_out, {repeated_heads(n, key, heads), Dim(-2), Dim(-1)});
  const ValueId products = lowering::matmul(n, n.cast(query, wide), n.cast(keys, wide));
  const ValueId scores = modified(n, "score_mod", n.op(OpId::mul_Scalar_out, {products, scale}));
  const ValueId weights = modified(n, "prob_mod", attention_weights(n, scores, n.has_attribute("score_mod")));
  const ValueId y = lowering::matmul(n, weights, n.cast(repeated_heads(n, value, heads), wide));
  n.output(0, n.cast(y, type));
}

}  // namespace

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

namespace {

ValueId part(NodeContext& n, ValueId x, int64_t begin, int64_t end, int64_t step) {
  return n.op(OpId::slice_copy_Tensor_out, {x, Dim(3), Dim(begin), Dim(end), Dim(step)});
}

}  // namespace

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

namespace {

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

constexpr OperatorRow kPreviewRows[] = {
    {"FlexAttention", 3, 3, import_flex_attention},
};

constexpr OperatorRow kAttentionRows[] = {
    {"Attention", 3, 7, import_attention},
    {"RotaryEmbedding", 3, 4, import_rotary_embedding},
};

}  // namespace

// ONNX Runtime's has the positions, [batch, length] or a first one for all, before the caches.
void import_contrib_rotary_embedding(NodeContext& n) {
  if (n.number("scale", 1) != 1) return n.unsupported("attribute 'scale'");
  if (n.ok() && n.rank(n.input(1)) != 2) return n.unsupported("positions that are one number for all");
  rotate(n, 2, 3, 1);
}

OperatorTable attention_operators() { return kAttentionRows; }
OperatorTable preview_operators() { return kPreviewRows; }

}  // namespace berth::onnx
