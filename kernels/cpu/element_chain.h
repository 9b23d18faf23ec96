// Element-wise chains: several steps on a run of elements at a time, which stays in the first-level cache, with inputs
// that broadcast to the output in any dimension order.
//
// The output is processed in memory order, as planes of rows of columns; adjacent dimensions that all inputs traverse
// in the same way are merged. A run is several whole rows, or a part of a long one. An input is read in place if its
// run is dense or a single number; repeated rows (a channel's factor in channels-last images) are expanded to a run
// once for each plane; anything else is gathered.
//
// Inputs of other types become floats in a run of their own, and a result of bytes is stored from one; both do the
// arithmetic of quantisation on their way (element_ends.h). What one tensor of bytes alone decides is looked up
// (element_table.h).
#pragma once

#include "format/elementwise_code.h"
#include "kernels/cpu/element_bytes.h"
#include "runtime/kernel.h"

namespace berth::cpu {

struct ChainStep {
  elementwise::Op op;
  /// Operands as in format/elementwise_code.h: inputs, constants, results of earlier steps.
  uint8_t operand[3] = {0, 0, 0};
};

/// REQUIRES: the bounds and operands are those of format/elementwise_code.h.
struct Chain {
  size_t inputs = 0, constants = 0, steps = 0;
  const Tensor* input[elementwise::kMaxInputs] = {};
  /// What the bytes of an input stand for; null: what they are.
  const NumberTable* table[elementwise::kMaxInputs] = {};
  /// Where all of the chain depends on the bytes of one input, the result of each; else null.
  const ByteTable* whole = nullptr;
  size_t whole_input = 0;
  float constant[elementwise::kMaxConstants];
  ChainStep step[elementwise::kMaxSteps];
};

/// Computes the chain for all elements of `out`, on the context's threads. `out` may share the memory of inputs with
/// the same layout. A result of bytes is that of the portable kernel, bit for bit. REQUIRES: all tensors have memory
/// and the types that format/elementwise_code.h gives them; the inputs broadcast to out's sizes.
void run_chain(KernelContext& context, const Chain& chain, Tensor& out);

}  // namespace berth::cpu
