// f16 to f32 and back by the processor's own instructions, where it has them (F16C of x86-64).
#pragma once

#include <cstdint>

#include "base/half.h"

namespace berth::portable {

/// Converts some of the first of `n` numbers and returns how many: none without such instructions. The results are
/// those of base/half.h, but for the bits of NaN.
int64_t widen_halves(const Half* x, float* y, int64_t n);
int64_t narrow_halves(const float* x, Half* y, int64_t n);

}  // namespace berth::portable
