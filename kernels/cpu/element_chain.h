// Element-wise chains: several steps on the same elements, a run that stays in the first-level cache at a time, with
// inputs that stretch to the output in any dimension order.
//
// The output is walked as it lies in memory, as planes of rows of columns (neighbouring dimensions that every input
// goes through alike are one). A run is some whole rows, or a part of a long one. An input is read where it lies when
// its run is dense or one number; rows that repeat (a channel's factor in channels-last images) are laid out as a run
// once a plane; anything else is gathered.
#pragma once

#include "format/elementwise_code.h"
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
  const Tensor* input[elementwise::kMaxInputs];
  float constant[elementwise::kMaxConstants];
  ChainStep step[elementwise::kMaxSteps];
};

/// Computes the chain for all elements of `out`, on the context's threads. `out` may be the memory of inputs that have
/// its own layout. REQUIRES: all tensors are f32 and have memory; the inputs stretch to out's sizes.
void run_chain(KernelContext& context, const Chain& chain, Tensor& out);

}  // namespace berth::cpu
