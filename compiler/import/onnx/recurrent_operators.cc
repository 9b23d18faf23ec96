// RNN, LSTM, GRU, and the LSTM of ONNX Runtime's quantiser. The equations are those of ONNX's operator pages. The order
// of gates there: LSTM i, o, f, c; GRU z, r, h.
#include "compiler/import/lowering/arithmetic.h"
#include "compiler/import/onnx/operators.h"
#include "compiler/import/onnx/recurrent.h"

namespace berth::onnx {
namespace {

// `x` within [-clip, clip], where the node has that attribute.
ValueId clipped(NodeContext& n, ValueId x) {
  if (!n.has_attribute("clip")) return x;
  const double limit = n.number("clip", 0);
  return n.op(OpId::clamp_out, {x, -limit, limit});
}

void import_rnn(NodeContext& n) {
  const Recurrent r = read_recurrent(n, {1, {"Tanh"}, false, false, false});
  std::vector<Passed> all;
  for (const Direction& d : r.directions) {
    all.push_back(over_time(n, r, d, {d.hidden}, [&](const Step& step, ValueList& states) {
      const ValueId gate = clipped(n, r.with_state(n, d, step.gates, states[0]));
      states[0] = r.keep(n, step, activate(n, d.activations[0], gate), states[0]);
      return r.blank(n, step, states[0]);
    }));
  }
  recurrent_outputs(n, r, all);
}

struct LstmState {
  ValueId h, c;
};

struct Gates {
  ValueId i, o, f, c;
};

// The gates after their activations. Without peepholes i, o and f are activated in one go.
Gates lstm_gates(NodeContext& n, const Recurrent& r, const Direction& d, ValueId sum) {
  const int64_t h = r.hidden;
  const std::vector<ValueId> parts = r.split(n, sum, {3 * h, h});
  const std::vector<ValueId> iof = r.split(n, activate(n, d.activations[0], parts[0]), {h, h, h});
  return {iof[0], iof[1], iof[2], activate(n, d.activations[1], parts[1])};
}

LstmState lstm_step(NodeContext& n, const Recurrent& r, const Direction& d, ValueId sum, LstmState before,
                    bool input_forget) {
  Gates g = lstm_gates(n, r, d, clipped(n, sum));
  if (input_forget) g.f = n.op(OpId::rsub_Scalar_out, {g.i, 1.0});
  const ValueId c = add(n, mul(n, g.f, before.c), mul(n, g.i, g.c));
  return {mul(n, g.o, activate(n, d.activations[2], c)), c};
}

// With peepholes the gates see the cell: i and f the one before, o the new one. What is clipped is each activation's
// input, the cell's part included.
LstmState lstm_step_with_peepholes(NodeContext& n, const Recurrent& r, const Direction& d, ValueId sum,
                                   LstmState before, bool input_forget) {
  const int64_t h = r.hidden;
  const std::vector<ValueId> gates = r.split(n, sum, {h, h, h, h});
  const std::vector<ValueId> p = r.split(n, d.peepholes, {h, h, h});
  const Activation& f = d.activations[0];
  const auto gate = [&](size_t at, ValueId peephole, ValueId cell) {
    return activate(n, f, clipped(n, add(n, gates[at], mul(n, peephole, cell))));
  };
  const ValueId i = gate(0, p[0], before.c);
  const ValueId forget = input_forget ? n.op(OpId::rsub_Scalar_out, {i, 1.0}) : gate(2, p[2], before.c);
  const ValueId candidate = activate(n, d.activations[1], clipped(n, gates[3]));
  const ValueId c = add(n, mul(n, forget, before.c), mul(n, i, candidate));
  const ValueId o = gate(1, p[1], c);
  return {mul(n, o, activate(n, d.activations[2], c)), c};
}

void lstm(NodeContext& n, bool quantized) {
  const Recurrent r = read_recurrent(n, {4, {"Sigmoid", "Tanh", "Tanh"}, true, false, quantized});
  const bool input_forget = n.integer("input_forget", 0) != 0;
  std::vector<Passed> all;
  for (const Direction& d : r.directions) {
    all.push_back(over_time(n, r, d, {d.hidden, d.cell}, [&](const Step& step, ValueList& states) {
      const LstmState before{states[0], states[1]};
      const ValueId sum = r.with_state(n, d, step.gates, before.h);
      const LstmState next = d.peepholes.valid() ? lstm_step_with_peepholes(n, r, d, sum, before, input_forget)
                                                 : lstm_step(n, r, d, sum, before, input_forget);
      states[0] = r.keep(n, step, next.h, before.h);
      states[1] = r.keep(n, step, next.c, before.c);
      return r.blank(n, step, states[0]);
    }));
  }
  recurrent_outputs(n, r, all);
}

void import_lstm(NodeContext& n) { lstm(n, false); }

// linear_before_reset: the candidate's part of the state is multiplied by the reset gate after the matrix product.
ValueId gru_candidate_after_product(NodeContext& n, const Recurrent& r, const Direction& d, ValueId x, ValueId h,
                                    ValueId* update) {
  const int64_t width = r.hidden;
  const ValueId product = d.recurrence_bias.valid() ? n.op(OpId::addmm_out, {d.recurrence_bias, h, d.recurrence})
                                                    : n.op(OpId::mm_out, {h, d.recurrence});
  const std::vector<ValueId> from_x = r.split(n, x, {2 * width, width});
  const std::vector<ValueId> from_h = r.split(n, product, {2 * width, width});
  const ValueId gates = activate(n, d.activations[0], clipped(n, add(n, from_x[0], from_h[0])));
  const std::vector<ValueId> zr = r.split(n, gates, {width, width});
  *update = zr[0];
  const ValueId sum = add(n, from_x[1], mul(n, zr[1], from_h[1]));
  return activate(n, d.activations[1], clipped(n, sum));
}

ValueId gru_candidate_before_product(NodeContext& n, const Recurrent& r, const Direction& d,
                                     const std::vector<ValueId>& recurrences, ValueId x, ValueId h, ValueId* update) {
  const int64_t width = r.hidden;
  const std::vector<ValueId> from_x = r.split(n, x, {2 * width, width});
  const ValueId gates =
      activate(n, d.activations[0], clipped(n, n.op(OpId::addmm_out, {from_x[0], h, recurrences[0]})));
  const std::vector<ValueId> zr = r.split(n, gates, {width, width});
  *update = zr[0];
  const ValueId sum = n.op(OpId::addmm_out, {from_x[1], mul(n, zr[1], h), recurrences[1]});
  return activate(n, d.activations[1], clipped(n, sum));
}

void import_gru(NodeContext& n) {
  const bool after = n.integer("linear_before_reset", 0) != 0;
  const Recurrent r = read_recurrent(n, {3, {"Sigmoid", "Tanh"}, false, after, false});
  std::vector<Passed> all;
  for (const Direction& d : r.directions) {
    std::vector<ValueId> recurrences;
    if (!after) recurrences = r.split(n, d.recurrence, {2 * r.hidden, r.hidden});
    all.push_back(over_time(n, r, d, {d.hidden}, [&](const Step& step, ValueList& states) {
      const ValueId h = states[0];
      ValueId z;
      const ValueId candidate = after ? gru_candidate_after_product(n, r, d, step.gates, h, &z)
                                      : gru_candidate_before_product(n, r, d, recurrences, step.gates, h, &z);
      // Not candidate + z (h - candidate): of a large candidate, which Relu does not bound, nothing of h is left.
      const ValueId next = add(n, mul(n, n.op(OpId::rsub_Scalar_out, {z, 1.0}), candidate), mul(n, z, h));
      states[0] = r.keep(n, step, next, h);
      return r.blank(n, step, states[0]);
    }));
  }
  recurrent_outputs(n, r, all);
}

constexpr OperatorRow kRecurrentRows[] = {
    {"GRU", 3, 6, import_gru},
    {"LSTM", 3, 8, import_lstm},
    {"RNN", 3, 6, import_rnn},
};

}  // namespace

void import_dynamic_quantize_lstm(NodeContext& n) { lstm(n, true); }

OperatorTable recurrent_operators() { return kRecurrentRows; }

}  // namespace berth::onnx
