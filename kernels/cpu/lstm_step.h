// One step of a long short-term memory for one row of a batch: the work behind kernels/cpu/lstm.cc.
//
//   i f g o = gates + hidden * weight          each `size` columns of the four
//   cell'   = sigmoid(f) * cell + sigmoid(i) * tanh(g)
//   hidden' = sigmoid(o) * tanh(cell')
#pragma once

#include <cstdint>

namespace berth::cpu {

struct LstmStep {
  const float* gates = nullptr;   // 4 * size
  const float* hidden = nullptr;  // size
  const float* cell = nullptr;    // size
  const float* weight = nullptr;  // size rows of 4 * size
  float* out_hidden = nullptr;    // size; apart from all that is read
  float* out_cell = nullptr;
  int64_t size = 0;
};

/// Units of the state that are worked on together: ranges begin at multiples of it.
constexpr int64_t kLstmUnits = 64;

/// Computes units [begin, end) of the new state. REQUIRES: begin is a multiple of kLstmUnits.
void run_lstm_units(const LstmStep& step, int64_t begin, int64_t end);

}  // namespace berth::cpu
