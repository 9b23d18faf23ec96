// How the steps of recurrent layers (lstm_step.h, gru_step.h) are divided into rows of a batch and units of the state,
// and those of a whole sequence among threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/tensor.h"

namespace berth::cpu {

/// The most rows that are processed together, so that the weight is read once for all of them.
constexpr int64_t kRecurrentRows = 3;
/// Units of the state that are processed together.
constexpr int64_t kRecurrentUnits = 64;

/// Into how many parts a step of a sequence is cut, each of whole blocks of units; `weight` has these outermost.
inline int64_t recurrent_parts(const Tensor& hidden, const Tensor& weight, int threads) {
  // Multiplications of a step that are worth another thread, which waits some hundred nanoseconds for the others.
  constexpr double kPartWork = 24 << 10;
  const int64_t most = std::min(int64_t{threads}, weight.size(0));
  const double work = static_cast<double>(hidden.size(0)) * static_cast<double>(weight.numel());
  return std::max<int64_t>(1, static_cast<int64_t>(std::min(static_cast<double>(most), work / kPartWork)));
}

/// Calls run(step, first unit, end) for blocks [begin, end) of units, the last first where the step goes backwards.
template <typename Step, typename Run>
void run_unit_blocks(const Step& step, int64_t begin, int64_t end, const Run& run) {
  for (int64_t i = begin; i < end; ++i) {
    const int64_t block = step.backwards ? begin + end - 1 - i : i;
    run(step, block * step.width, std::min((block + 1) * step.width, step.size));
  }
}

}  // namespace berth::cpu
