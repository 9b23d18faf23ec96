// One step of a long short-term memory for a few rows of a batch: the work behind kernels/cpu/lstm.cc and
// lstm_sequence.cc.
//
//   i f g o = gates + hidden * weight          each `size` columns of the four
//   cell'   = sigmoid(f) * cell + sigmoid(i) * tanh(g)
//   hidden' = sigmoid(o) * tanh(cell')
#pragma once

#include "kernels/cpu/recurrent_step.h"

namespace berth::cpu {

/// Rows of each tensor follow each other.
struct LstmStep {
  const float* gates = nullptr;   // 4 * size a row
  const float* hidden = nullptr;  // size
  const float* cell = nullptr;    // size
  // Of each `width` units one block, a row of 4 * width for each element of `hidden`: what it adds to i of the block's
  // units, then to f, g and o.
  const float* weight = nullptr;
  float* out_hidden = nullptr;  // size; apart from all that is read
  float* out_cell = nullptr;    // size; may be `cell`
  int64_t rows = 1;             // up to kRecurrentRows
  int64_t size = 0;
  int64_t width = 0;
  // From the last row of a block to the first: what a step reads last is what the next finds in the cache.
  bool backwards = false;
};

/// Units of one row whose sums are there.
struct LstmGates {
  const float* gate[4] = {};  // i, f, g and o of the first
  const float* cell = nullptr;
  float* out_hidden = nullptr;  // apart from all that is read
  float* out_cell = nullptr;    // may be `cell`
};

void run_lstm_gates(const LstmGates& gates, int64_t count);

/// Computes units [begin, end) of the new state. REQUIRES: they are of one block.
void run_lstm_units(const LstmStep& step, int64_t begin, int64_t end);

}  // namespace berth::cpu
