// Operators of models that read a text word by word and keep a state: LinearAttention, CausalConvWithState,
// TensorScatter, and the activation SwiGLU.
//
// Source: the pages of ONNX on these operators.
#include <cmath>

#include "compiler/import/lowering/arithmetic.h"
#include "compiler/import/lowering/convolution.h"
#include "compiler/import/lowering/loop.h"
#include "compiler/import/lowering/matmul.h"
#include "compiler/import/onnx/operators.h"
#include "compiler/import/onnx/quantize.h"

namespace berth::onnx {
namespace {

using lowering::add;
using lowering::mul;

// Fewer steps than this stand one after another.
constexpr int64_t kMaxUnrolledSteps = 8;

/// The operator as it is read: the state is [batch, heads, key size, value size], in f32.
struct LinearAttention {
  bool gates = false;  // the state decays
  bool delta = false;  // what the state holds already is taken off
  Dim batch, steps;
  int64_t heads = 0, shared = 0;  // heads of keys and values; heads of queries that share one
  int64_t key_size = 0, value_size = 0;
  double scale = 1;
};

// [batch, steps, heads · size] → [steps, batch, heads, size], in f32.
ValueId by_step(NodeContext& n, ValueId x, int64_t heads) {
  if (n.ok() && n.rank(x) != 3) n.invalid("expected [batch, steps, features], found " + n.type_text(x));
  const int64_t all = n.fixed(n.dim(x, 2), "the number of features");
  if (n.ok() && (heads < 1 || all % heads != 0)) {
    n.invalid(std::to_string(heads) + " heads do not divide " + std::to_string(all) + " features");
  }
  if (!n.ok()) return {};
  const ValueId apart = n.view(n.cast(x, DType::kF32), {n.dim(x, 0), n.dim(x, 1), Dim(heads), Dim(all / heads)});
  return n.permute(apart, {1, 0, 2, 3});
}

// Slices: query, key, value, and where there are such, decay and beta. Returns [batch, heads of queries · value size].
ValueId step_of(NodeContext& n, const LinearAttention& a, const ValueList& slices, ValueList& states) {
  const Dim heads(a.heads);
  const Dim keys(a.key_size);
  const Dim values(a.value_size);
  size_t next = 3;
  ValueId state = states[0];
  if (a.gates) {
    const ValueId decay = n.op(OpId::exp_out, {slices[next++]});
    state = mul(n, state, n.view(decay, {a.batch, heads, n.dim(decay, 2), Dim(1)}));
  }
  ValueId value = slices[2];
  if (a.delta) {
    const ValueId row = n.view(slices[1], {a.batch, heads, Dim(1), keys});
    const ValueId held = n.view(lowering::matmul(n, row, state), {a.batch, heads, values});
    value = mul(n, n.op(OpId::sub_out, {value, held}), slices[next]);
  }
  const ValueId column = n.view(slices[1], {a.batch, heads, keys, Dim(1)});
  states[0] = add(n, state, mul(n, column, n.view(value, {a.batch, heads, Dim(1), values})));
  const ValueId query = n.view(slices[0], {a.batch, heads, Dim(a.shared), keys});
  const ValueId read = n.op(OpId::mul_Scalar_out, {lowering::matmul(n, query, states[0]), a.scale});
  return n.view(read, {a.batch, Dim(a.heads * a.shared * a.value_size)});
}

ValueId first_state(NodeContext& n, const LinearAttention& a) {
  if (n.has_input(3)) return n.cast(n.input(3), DType::kF32);
  const DimList shape{a.batch, Dim(a.heads), Dim(a.key_size), Dim(a.value_size)};
  return n.op(OpId::full_out, {shape, 0.0, lowering::number_of(DType::kF32)});
}

bool read_rule(NodeContext& n, LinearAttention* a) {
  const std::string rule = n.text("update_rule", "gated_delta");
  a->gates = rule == "gated" || rule == "gated_delta";
  a->delta = rule == "delta" || rule == "gated_delta";
  if (rule != "linear" && !a->gates && !a->delta) n.invalid("attribute 'update_rule' is \"" + rule + "\"");
  if (a->gates != n.has_input(4) || a->delta != n.has_input(5)) {
    n.invalid("the rule \"" + rule + "\" needs its decay (input 4) and rate (input 5), and no other");
  }
  return n.ok();
}

void import_linear_attention(NodeContext& n) {
  LinearAttention a;
  const int64_t query_heads = n.integer("q_num_heads", 0);
  a.heads = n.integer("kv_num_heads", 0);
  if (a.heads < 1 || query_heads < 1 || query_heads % a.heads != 0) {
    return n.invalid("attribute 'q_num_heads' must be a multiple of 'kv_num_heads', both at least 1");
  }
  a.shared = query_heads / a.heads;
  if (!read_rule(n, &a)) return;
  ValueList sliced = {by_step(n, n.input(0), query_heads), by_step(n, n.input(1), a.heads),
                      by_step(n, n.input(2), a.heads)};
  if (a.gates) sliced.push_back(by_step(n, n.input(4), a.heads));
  // A rate may be one for all heads.
  if (a.delta) sliced.push_back(by_step(n, n.input(5), n.dim(n.input(5), 2) == Dim(1) ? 1 : a.heads));
  if (!n.ok()) return;
  a.steps = n.dim(sliced[0], 0);
  a.batch = n.dim(sliced[0], 1);
  a.key_size = n.fixed(n.dim(sliced[1], 3), "the size of a key");
  a.value_size = n.fixed(n.dim(sliced[2], 3), "the size of a value");
  const double scale = n.number("scale", 0);
  a.scale = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(a.key_size));
  ValueList states = {first_state(n, a)};
  ValueId all;
  if (n.ok() && a.steps.is_constant() && a.steps.value >= 1 && a.steps.value <= kMaxUnrolledSteps) {
    ValueList shown;
    for (int64_t t = 0; t < a.steps.value; ++t) {
      ValueList slices;
      for (ValueId v : sliced) slices.push_back(n.op(OpId::select_copy_int_out, {v, Dim(0), Dim(t)}));
      shown.push_back(step_of(n, a, slices, states));
    }
    all = n.op(OpId::stack_out, {shown, Dim(1)});
  } else {
    lowering::LoopResults results =
        lowering::loop_over(n, a.steps, sliced, states,
                            [&](const ValueList& slices, ValueList& inside) { return step_of(n, a, slices, inside); });
    all = n.permute(results.stacked, {1, 0, 2});
    states = results.states;
  }
  if (!n.ok()) return;
  n.output(0, n.cast(all, n.dtype(n.input(0))));
  n.output(1, n.cast(states[0], n.dtype(n.input(n.has_input(3) ? 3 : 0))));
}

ValueId swish(NodeContext& n, ValueId x, double alpha) {
  const DType type = n.dtype(x);
  const ValueId wide = type == DType::kF64 ? x : n.cast(x, DType::kF32);
  const ValueId scaled = alpha == 1 ? wide : n.op(OpId::mul_Scalar_out, {wide, alpha});
  return n.cast(mul(n, wide, n.op(OpId::sigmoid_out, {scaled})), type);
}

void import_swiglu(NodeContext& n) {
  const ValueId gate = swish(n, n.input(0), n.number("alpha", 1));
  n.output(0, mul(n, gate, n.input(1)));
}

// What came before, and behind it the input, convolved without padding; the last of both is what comes before the next.
void import_causal_conv(NodeContext& n) {
  const ValueId x = n.input(0);
  const ValueId weight = n.input(1);
  if (n.ok() && (n.rank(x) != 3 || n.rank(weight) != 3)) {
    return n.invalid("expected [batch, channels, length] and [channels, 1, kernel], found " + n.type_text(x) + " and " +
                     n.type_text(weight));
  }
  const int64_t kernel = n.fixed(n.dim(weight, 2), "the kernel's size");
  const int64_t channels = n.fixed(n.dim(x, 1), "the number of channels");
  const std::string activation = n.text("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish") {
    return n.invalid("attribute 'activation' is \"" + activation + "\"");
  }
  if (!n.ok()) return;
  const DimList before{n.dim(x, 0), Dim(channels), Dim(kernel - 1)};
  const ValueId past =
      n.has_input(3) ? n.input(3) : n.op(OpId::full_out, {before, 0.0, lowering::number_of(n.dtype(x))});
  const ValueId whole = kernel == 1 ? x : n.op(OpId::cat_out, {ValueList{past, x}, Dim(2)});
  lowering::Window window;
  window.kernel = {kernel};
  window.strides = {1};
  window.dilations = {1};
  window.begins = {Dim(0)};
  window.ends = {Dim(0)};
  const Argument bias = n.has_input(2) ? Argument(n.input(2)) : Argument(None());
  const ValueId y = lowering::convolution(n, {whole, weight, bias, channels}, window);
  n.output(0, activation == "none" ? y : swish(n, y, 1));
  const Dim length = n.dim(whole, 2);
  n.output(1, n.slice(whole, 2, n.symbols().sub(length, Dim(kernel - 1)), length));
}

// Row b of the update goes to the places from write_indices[b] on, along the axis.
void import_tensor_scatter(NodeContext& n) {
  const ValueId cache = n.input(0);
  const ValueId update = n.input(1);
  const int axis = n.axis(n.integer("axis", -2), n.rank(cache));
  const std::string mode = n.text("mode", "linear");
  if (n.ok() && (axis == 0 || n.rank(update) != n.rank(cache) || (mode != "linear" && mode != "circular"))) {
    return n.invalid("the axis, the mode or the ranks of " + n.type_text(cache) + " and " + n.type_text(update) +
                     " do not fit");
  }
  if (!n.ok()) return;
  std::vector<Dim> along(n.rank(cache), Dim(1));
  along[axis] = n.dim(update, axis);
  const Dim i64 = lowering::number_of(DType::kI64);
  ValueId places = n.view(n.op(OpId::arange_start_out, {Dim(0), along[axis], Dim(1), i64}), along);
  if (n.has_input(2)) {
    std::vector<Dim> of_rows(n.rank(cache), Dim(1));
    of_rows[0] = n.dim(update, 0);
    places = add(n, places, n.view(n.cast(n.input(2), DType::kI64), of_rows));
  }
  if (mode == "circular") places = n.op(OpId::remainder_Scalar_out, {places, n.dim(cache, axis)});
  n.output(0, n.op(OpId::scatter_src_out, {cache, Dim(axis), n.expand(places, n.shape(update)), update}));
}

constexpr OperatorRow kStreamingRows[] = {
    {"CausalConvWithState", 2, 4, import_causal_conv},
    {"LinearAttention", 3, 6, import_linear_attention},
    {"SwiGLU", 2, 2, import_swiglu},
    {"TensorScatter", 2, 3, import_tensor_scatter},
};

}  // namespace

OperatorTable streaming_operators() { return kStreamingRows; }

}  // namespace berth::onnx
