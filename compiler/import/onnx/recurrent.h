// Shared by LSTM, GRU and RNN: their inputs for one direction, their activations, and the loop over time, which is
// unrolled where the number of steps is known and not too large, else a berth::scan. The input's part of all gates is
// one matrix product for all steps; each step then adds the part of the hidden state.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/import/onnx/integer_product.h"
#include "compiler/import/onnx/node_context.h"

namespace berth::onnx {

/// One activation of a recurrent operator, or of a fused one, with its parameters.
struct Activation {
  std::string name;  // lower case
  double alpha = 0;
  double beta = 0;
};

/// The activation called `name`, in any case, with ONNX's defaults of alpha and beta where it has them.
Activation with_defaults(std::string name);
/// Applies `activation` to `x`; fails for a name that ONNX does not have.
ValueId activate(NodeContext& n, const Activation& activation, ValueId x);

/// A weight [inputs, gates * hidden] of integers, whose other factor is quantised anew in every product.
struct QuantizedWeight {
  Centred numbers;
  ValueId scale;  // one number, or [gates * hidden]
};

/// One direction's weights, sliced out of the operator's stacked inputs and transposed for row vectors.
struct Direction {
  bool reverse = false;
  ValueId gates;       // [steps, batch, gates * hidden]: X W^T + bias, for every step
  ValueId recurrence;  // [hidden, gates * hidden]: R^T; none where it is quantised
  QuantizedWeight quantized_recurrence;
  ValueId recurrence_bias;  // [gates * hidden], or none: only a GRU that is linear before reset keeps it apart
  ValueId hidden;           // [batch, hidden]: the initial state
  ValueId cell;             // [batch, hidden]; LSTM only
  ValueId peepholes;        // [3 * hidden], or none
  std::vector<Activation> activations;
};

/// One step of the loop over time.
struct Step {
  ValueId gates;       // the input's part of the gates: [batch, gates * hidden]
  int64_t number = 0;  // which one it is, where the loop is unrolled
  ValueId turn;        // else the tensor that says it: i64 []
};

/// The whole operator, read and checked.
struct Recurrent {
  Dim steps = Dim(0);
  Dim batch;
  int64_t hidden = 0;
  DType dtype = DType::kF32;
  bool batch_first = false;  // layout 1
  ValueId lengths;           // [batch, 1] i64, or none when all sequences have all steps
  std::vector<Direction> directions;

  /// x + h R.
  ValueId with_state(NodeContext& n, const Direction& direction, ValueId x, ValueId h) const;
  /// Where the sequence is over, `before` instead of `after`.
  ValueId keep(NodeContext& n, const Step& step, ValueId after, ValueId before) const;
  /// A zero of the state's shape where the sequence is over.
  ValueId blank(NodeContext& n, const Step& step, ValueId value) const;
  /// Parts of `x` along its last dimension.
  std::vector<ValueId> split(NodeContext& n, ValueId x, std::vector<int64_t> sizes) const;
};

/// How the operators differ.
struct RecurrentKind {
  int64_t gates = 1;
  std::vector<std::string> default_activations;
  bool has_cell = false;       // inputs 6 (initial_c) and 7 (P)
  bool separate_bias = false;  // the recurrence's bias is not added to the input's
  bool quantized = false;      // W and R are integers, transposed; inputs 8 to 11 are their scales and zero points
};

Recurrent read_recurrent(NodeContext& n, const RecurrentKind& kind);

/// What a loop over time gives.
struct Passed {
  ValueId all;       // [steps, batch, hidden], in the order of time
  ValueList states;  // after the last step
};

/// One step: changes `states`, the first of which is the hidden state, and returns what output 0 shows of it.
using Advance = std::function<ValueId(const Step& step, ValueList& states)>;

/// The loop over time in the direction's order, beginning with `states`.
Passed over_time(NodeContext& n, const Recurrent& r, const Direction& direction, ValueList states,
                 const Advance& advance);

/// Gives outputs 0 (all steps), 1 (last hidden) and, where there are two states, 2 from each direction's results.
void recurrent_outputs(NodeContext& n, const Recurrent& r, const std::vector<Passed>& directions);

}  // namespace berth::onnx
