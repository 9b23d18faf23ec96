// Shared by LSTM, GRU and RNN: their inputs for one direction, their activations, and the loop over time, which is
// unrolled. The input's part of all gates is one matrix product for all steps; each step then adds the part of the
// hidden state.
#pragma once

#include <string>
#include <vector>

#include "compiler/import/onnx/node_context.h"

namespace berth::onnx {

/// One activation of a recurrent operator, with its parameters.
struct Activation {
  std::string name;  // lower case
  double alpha = 0;
  double beta = 0;
};

/// Applies `activation` to `x`; fails for a name that ONNX does not have.
ValueId activate(NodeContext& n, const Activation& activation, ValueId x);

/// One direction's weights, sliced out of the operator's stacked inputs and transposed for row vectors.
struct Direction {
  bool reverse = false;
  ValueId gates;            // [steps, batch, gates * hidden]: X W^T + bias, for every step
  ValueId recurrence;       // [hidden, gates * hidden]: R^T
  ValueId recurrence_bias;  // [gates * hidden], or none: only GRU keeps it apart
  ValueId hidden;           // [batch, hidden]: the initial state
  ValueId cell;             // [batch, hidden]; LSTM only
  ValueId peepholes;        // [3 * hidden], or none
  std::vector<Activation> activations;
};

/// The whole operator, read and checked.
struct Recurrent {
  int64_t steps = 0;
  Dim batch;
  int64_t hidden = 0;
  DType dtype = DType::kF32;
  bool batch_first = false;  // layout 1
  ValueId lengths;           // [batch, 1] i64, or none when all sequences have all steps
  std::vector<Direction> directions;

  /// The part of the gates of one step: [batch, gates * hidden].
  ValueId step(NodeContext& n, const Direction& direction, int64_t t) const;
  /// Where the sequence is over, `before` instead of `after`.
  ValueId keep(NodeContext& n, int64_t t, ValueId after, ValueId before) const;
  /// A zero of the state's shape where the sequence is over.
  ValueId blank(NodeContext& n, int64_t t, ValueId value) const;
  /// Parts of `x` along its last dimension.
  std::vector<ValueId> split(NodeContext& n, ValueId x, std::vector<int64_t> sizes) const;
};

/// How the operators differ.
struct RecurrentKind {
  int64_t gates = 1;
  std::vector<std::string> default_activations;
  bool has_cell = false;       // inputs 6 (initial_c) and 7 (P)
  bool separate_bias = false;  // the recurrence's bias is not added to the input's
};

Recurrent read_recurrent(NodeContext& n, const RecurrentKind& kind);

/// Gives outputs 0 (all steps), 1 (last hidden) and, with `cells`, 2 from each direction's results. `all[d]` has a
/// value [batch, hidden] for each step in the order of time.
void recurrent_outputs(NodeContext& n, const Recurrent& r, const std::vector<std::vector<ValueId>>& all,
                       const std::vector<ValueId>& hidden, const std::vector<ValueId>& cells);

}  // namespace berth::onnx
