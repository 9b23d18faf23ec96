// LSTM, GRU, RNN and their cells: unrolled over time. The input's part of all gates is one matrix product for all
// steps; each step then adds the part of the hidden state. Gate order in PyTorch: LSTM i, f, g, o; GRU r, z, n.
#include <algorithm>

#include "compiler/import/lowering/arithmetic.h"
#include "compiler/import/lowering/matmul.h"
#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

constexpr int64_t kMaxSteps = 4096;
constexpr int64_t kMaxLayers = 64;

enum class Cell { kTanh, kRelu, kLstm, kGru };

ValueId sigmoid(NodeContext& n, ValueId x) { return n.op(OpId::sigmoid_out, {x}); }
ValueId tanh(NodeContext& n, ValueId x) { return n.op(OpId::tanh_out, {x}); }

/// Equal parts of the last dimension.
std::vector<ValueId> parts(NodeContext& n, ValueId x, int64_t count) {
  const int64_t width = n.fixed(n.dim(x, n.rank(x) - 1), "the number of features") / count;
  std::vector<ValueId> result =
      n.ops(OpId::split_with_sizes_copy_out, {x, ir::dims(std::vector<int64_t>(count, width)), Dim(n.rank(x) - 1)});
  result.resize(count);
  return result;
}

struct State {
  ValueId hidden, cell;
};

/// The weights of one layer in one direction.
struct Weights {
  ValueId input, hidden;  // [gates · width, features], [gates · width, state]
  IrArgument input_bias, hidden_bias;
  ValueId projection;  // [state, width], LSTM only; may be none
};

/// One step: `x` is the input's part of the gates, bias added. `recurrence` is Weights::hidden, transposed.
State step(NodeContext& n, Cell kind, ValueId x, const State& before, const Weights& w, ValueId recurrence) {
  const auto from_hidden = [&] {
    if (const ValueId* bias = std::get_if<ValueId>(&w.hidden_bias)) {
      return n.op(OpId::addmm_out, {*bias, before.hidden, recurrence});
    }
    return n.op(OpId::mm_out, {before.hidden, recurrence});
  };
  if (kind == Cell::kGru) {
    const std::vector<ValueId> i = parts(n, x, 3);
    const std::vector<ValueId> h = parts(n, from_hidden(), 3);
    const ValueId reset = sigmoid(n, add(n, i[0], h[0]));
    const ValueId update = sigmoid(n, add(n, i[1], h[1]));
    const ValueId fresh = tanh(n, add(n, i[2], mul(n, reset, h[2])));
    return {add(n, fresh, mul(n, update, n.op(OpId::sub_out, {before.hidden, fresh}))), {}};
  }
  const ValueId sum = add(n, x, from_hidden());
  if (kind == Cell::kTanh) return {tanh(n, sum), {}};
  if (kind == Cell::kRelu) return {n.op(OpId::relu_out, {sum}), {}};
  const std::vector<ValueId> g = parts(n, sum, 4);
  const ValueId cell = add(n, mul(n, sigmoid(n, g[1]), before.cell), mul(n, sigmoid(n, g[0]), tanh(n, g[2])));
  ValueId hidden = mul(n, sigmoid(n, g[3]), tanh(n, cell));
  if (w.projection.valid()) hidden = n.op(OpId::mm_out, {hidden, n.permute(w.projection, {1, 0})});
  return {hidden, cell};
}

struct Layer {
  std::vector<ValueId> outputs;  // by step
  State last;
};

// `x` is [steps, batch, features].
Layer run_layer(NodeContext& n, Cell kind, ValueId x, State state, const Weights& w, bool reverse) {
  Layer layer;
  const int64_t steps = n.fixed(n.dim(x, 0), "the number of steps");
  if (n.ok() && (steps < 1 || steps > kMaxSteps)) n.unsupported("1 to 4096 steps are unrolled");
  const ValueId gates = lowering::linear(n, x, w.input, w.input_bias);
  const ValueId recurrence = n.permute(w.hidden, {1, 0});
  if (!n.ok()) return layer;
  layer.outputs.resize(steps);
  for (int64_t i = 0; i < steps && n.ok(); ++i) {
    const int64_t t = reverse ? steps - 1 - i : i;
    state = step(n, kind, n.op(OpId::select_copy_int_out, {gates, Dim(0), Dim(t)}), state, w, recurrence);
    layer.outputs[t] = state.hidden;
  }
  layer.last = state;
  return layer;
}

ValueId joined(NodeContext& n, const ValueList& list, int64_t dim, bool stack) {
  if (list.size() == 1 && !stack) return list[0];
  return n.op(stack ? OpId::stack_out : OpId::cat_out, {list, Dim(dim)});
}

// The forms that take packed sequences (`lstm.data`) have an argument of this name.
bool is_packed(NodeContext& n) { return n.argument("batch_sizes") != nullptr; }

/// Of the layer and direction whose parameters begin at `p`.
Weights weights_at(const ValueId* p, bool biases, bool projected) {
  Weights w{p[0], p[1], None(), None(), {}};
  if (biases) {
    w.input_bias = p[2];
    w.hidden_bias = p[3];
  }
  if (projected) w.projection = p[biases ? 4 : 2];
  return w;
}

/// Without the dimension `axis`, which has one element.
ValueId squeezed(NodeContext& n, ValueId value, int axis) {
  std::vector<Dim> shape = n.shape(value);
  if (n.ok()) shape.erase(shape.begin() + axis);
  return n.view(value, shape);
}

void import_layers(NodeContext& n, Cell kind) {
  if (is_packed(n)) return n.unsupported("packed sequences");
  ValueId x = n.tensor("input");
  const ValueList params = n.tensors("params");
  const int64_t layers = n.integer("num_layers", 1);
  const bool biases = n.truth("has_biases", true);
  const size_t directions = n.truth("bidirectional", false) ? 2 : 1;
  const bool batch_first = n.truth("batch_first", false);
  if (n.truth("train", false) && n.number("dropout", 0) != 0) return n.unsupported("training drops random elements");
  ValueList start = kind == Cell::kLstm ? n.tensors("hx") : ValueList{n.tensor("hx")};
  if (!n.ok()) return;
  const size_t states = kind == Cell::kLstm ? 2 : 1;
  if (layers < 1 || layers > kMaxLayers || start.size() != states) return n.invalid("the layers or states do not fit");
  const size_t rows = layers * directions;
  const size_t each = params.size() / rows;
  const size_t unprojected = biases ? 4 : 2;
  const bool projected = kind == Cell::kLstm && each == unprojected + 1;
  if (each * rows != params.size() || (each != unprojected && !projected)) {
    return n.invalid("the number of weights does not fit");
  }
  const bool batched = n.rank(x) == 3;
  if (!batched) {  // [steps, features]: a batch of one
    x = n.view(x, {n.dim(x, 0), Dim(1), n.dim(x, 1)});
    for (ValueId& s : start) s = n.view(s, {n.dim(s, 0), Dim(1), n.dim(s, 1)});
  } else if (batch_first) {
    x = n.permute(x, {1, 0, 2});
  }
  ValueList hidden, cells;
  for (int64_t layer = 0; layer < layers && n.ok(); ++layer) {
    ValueList results;
    for (size_t d = 0; d < directions && n.ok(); ++d) {
      const size_t row = layer * directions + d;
      const Weights w = weights_at(&params[row * each], biases, projected);
      const Dim index(static_cast<int64_t>(row));
      State state;
      state.hidden = n.op(OpId::select_copy_int_out, {start[0], Dim(0), index});
      if (kind == Cell::kLstm) state.cell = n.op(OpId::select_copy_int_out, {start[1], Dim(0), index});
      const Layer done = run_layer(n, kind, x, state, w, d == 1);
      if (!n.ok()) return;
      results.push_back(joined(n, ValueList(done.outputs.begin(), done.outputs.end()), 0, true));
      hidden.push_back(done.last.hidden);
      cells.push_back(done.last.cell);
    }
    x = joined(n, results, 2, false);
  }
  if (!n.ok()) return;
  if (batched && batch_first) x = n.permute(x, {1, 0, 2});
  std::vector<ValueId> all{x, joined(n, hidden, 0, true)};
  if (kind == Cell::kLstm) all.push_back(joined(n, cells, 0, true));
  for (ValueId& value : all) {
    if (!batched) value = squeezed(n, value, 1);
  }
  n.outputs(all);
}

void import_lstm(NodeContext& n) { import_layers(n, Cell::kLstm); }
void import_gru(NodeContext& n) { import_layers(n, Cell::kGru); }
void import_rnn_tanh(NodeContext& n) { import_layers(n, Cell::kTanh); }
void import_rnn_relu(NodeContext& n) { import_layers(n, Cell::kRelu); }

void import_cell(NodeContext& n, Cell kind) {
  ValueId x = n.tensor("input");
  ValueList start = kind == Cell::kLstm ? n.tensors("hx") : ValueList{n.tensor("hx")};
  if (!n.ok() || start.size() != (kind == Cell::kLstm ? 2u : 1u)) return n.invalid("the states do not fit");
  const bool batched = n.rank(x) == 2;
  if (!batched) {
    x = n.pad_rank(x, 2);
    for (ValueId& s : start) s = n.pad_rank(s, 2);
  }
  const Weights w{n.tensor("w_ih"), n.tensor("w_hh"), n.optional_tensor("b_ih"), n.optional_tensor("b_hh"), {}};
  const State before{start[0], kind == Cell::kLstm ? start[1] : ValueId()};
  const State after =
      step(n, kind, lowering::linear(n, x, w.input, w.input_bias), before, w, n.permute(w.hidden, {1, 0}));
  const auto flat = [&](ValueId v) { return batched ? v : n.view(v, {n.dim(v, 1)}); };
  n.output(flat(after.hidden));
  if (kind == Cell::kLstm) n.output(1, flat(after.cell));
}

void import_lstm_cell(NodeContext& n) { import_cell(n, Cell::kLstm); }
void import_gru_cell(NodeContext& n) { import_cell(n, Cell::kGru); }
void import_rnn_tanh_cell(NodeContext& n) { import_cell(n, Cell::kTanh); }
void import_rnn_relu_cell(NodeContext& n) { import_cell(n, Cell::kRelu); }

constexpr OperatorRow kRecurrentRows[] = {
    {"gru", import_gru},           {"gru_cell", import_gru_cell},
    {"lstm", import_lstm},         {"lstm_cell", import_lstm_cell},
    {"rnn_relu", import_rnn_relu}, {"rnn_relu_cell", import_rnn_relu_cell},
    {"rnn_tanh", import_rnn_tanh}, {"rnn_tanh_cell", import_rnn_tanh_cell},
};

}  // namespace

OperatorTable recurrent_operators() { return kRecurrentRows; }

}  // namespace berth::pt2
