// One step of an LSTM as models write it out, for the passes that make one operator of it: fuse_lstm.h shows it.
#pragma once

#include <array>
#include <map>
#include <tuple>

#include "compiler/fuse/gates.h"

namespace berth::fuse {

/// Of i, f, g, o: which quarter of a row holds each.
using GateOrder = std::array<int64_t, 4>;
inline constexpr GateOrder kOwnOrder = {0, 1, 2, 3};

struct LstmStep {
  ir::ValueId input;   // the input's part of the gates
  ir::ValueId bias;    // a constant; may be invalid
  ir::ValueId hidden;  // before
  ir::ValueId cell;
  ir::ValueId weight;
  GateOrder order{};
  ir::ValueId new_cell;
};

/// `node` as what gives the hidden state of a step. Its sizes are known.
std::optional<LstmStep> match_lstm_step(const Context& context, const ir::Node& node);

/// The same where the sums of the gates are whatever they are: `input` is all four in a row, `bias`, `hidden` and
/// `weight` are invalid.
std::optional<LstmStep> match_lstm_gates(const Context& context, const ir::Node& node);

/// Weights and gates in the order i, f, g, o, each made once.
class LstmOperands {
 public:
  LstmOperands(Context& context, ir::Builder& build) : context_(context), build_(build) {}

  /// A constant of [.., 4 * size] with its quarters, which are in `order`, in that of berth::lstm_cell.
  ir::ValueId columns_in_order(ir::ValueId constant, const GateOrder& order);

  /// The input's part with its quarters in order and the step's bias added; invalid when that would take an instruction
  /// more a step.
  Expected<ir::ValueId> gates_in_order(const LstmStep& step);

  /// A weight [size, 4 * size] as berth::lstm reads it: [blocks, size, 4, width], zeros beyond the last unit.
  ir::ValueId in_blocks(ir::ValueId weight);

 private:
  Expected<ir::ValueId> shared_product(ir::ValueId value, const LstmStep& step);

  Context& context_;
  ir::Builder& build_;
  std::map<std::pair<ir::ValueId, GateOrder>, ir::ValueId> turned_;
  std::map<std::pair<ir::ValueId, ir::ValueId>, ir::ValueId> moved_;  // by new input and old value
  std::map<std::tuple<ir::ValueId, ir::ValueId, GateOrder>, ir::ValueId> products_;
  std::map<ir::ValueId, ir::ValueId> blocks_;
};

}  // namespace berth::fuse
