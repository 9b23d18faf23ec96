// torch.autocast("cpu"): a region whose products are computed in 16 bits, and which export keeps as a graph of its own
// (wrap_with_autocast). run_decompositions() leaves casts in its place, of which PyTorch loses some (docs/import.md).
//
// Source: what PyTorch 2.15 registers for the key AutocastCPU, which tests/compat/pt2_autocast.py compares.
#pragma once

#include "compiler/import/pt2/node_context.h"

namespace berth::pt2 {

/// Within a region of torch.autocast: has `n` cast the floats that its node reads as PyTorch casts them there. Those of
/// f64 always stay. Fails for operators of which PyTorch casts what they compute on the way.
void apply_autocast(NodeContext& n);

}  // namespace berth::pt2
