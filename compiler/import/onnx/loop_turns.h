// How often a Loop turns, as far as that is known while the model is imported.
#pragma once

#include "compiler/import/onnx/control_operators.h"

namespace berth::onnx {

/// A Loop node: M and the first condition, what goes around, what is stacked.
struct Turns {
  const Graph* body = nullptr;
  size_t carried = 0;
  size_t stacked = 0;
  std::optional<Dim> count;   // where it is known
  std::optional<bool> start;  // the first condition, where it is known
  bool decided = false;       // the condition holds in every turn that `count` has, whatever the body says
};

/// What the node says of itself. After a failure, which is set in `n`, some of it.
Turns read_turns(NodeContext& n);

/// How often the loop turns, where its condition follows from a count that goes around and is known, as keras's
/// recurrent layers have it. Leaves nothing in the graph.
std::optional<int64_t> followed_turns(NodeContext& n, const Turns& t);

}  // namespace berth::onnx
