// One step of a gated recurrent unit for a few rows of a batch: the work behind kernels/cpu/gru.cc.
//
//   z, r    = sigmoid(gates + bias + hidden * weight)     each `size` columns of the three
//   n       = tanh(gates + r * (bias + hidden * weight)), or tanh(gates + bias + (r * hidden) * weight)
//   hidden' = n + z * (hidden - n)
#pragma once

#include "kernels/cpu/recurrent_step.h"

namespace berth::cpu {

/// Rows of each tensor follow each other.
struct GruStep {
  const float* gates = nullptr;   // 3 * size a row: z r n, or r z n
  const float* hidden = nullptr;  // size
  // Of each `width` units one block, a row of 3 * width for each element of `hidden`: what it adds to the first gate of
  // the block's units, then to the second and to n.
  const float* weight = nullptr;
  const float* bias = nullptr;  // 3 * size in all, or null
  float* reset = nullptr;       // size: r * hidden, where that is what meets the weight
  float* out = nullptr;         // size; apart from all that is read
  int64_t rows = 1;             // up to kRecurrentRows
  int64_t size = 0;
  int64_t width = 0;
  bool reset_first = false;  // r z n
  // From the last row of a block to the first: what a step reads last is what the next finds in the cache.
  bool backwards = false;
};

// Each computes units [begin, end). REQUIRES: they are of one block.

/// The new state, the reset gate applied to the product.
void run_gru_units(const GruStep& step, int64_t begin, int64_t end);
/// The first half of a step whose reset gate is applied to the state: `reset`, and z in `out`.
void run_gru_gates(const GruStep& step, int64_t begin, int64_t end);
/// The other half, once all of `reset` is there: the new state in the place of z.
void run_gru_candidate(const GruStep& step, int64_t begin, int64_t end);

}  // namespace berth::cpu
