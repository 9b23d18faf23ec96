// Sines and cosines of many floats (trigonometry.h), in registers.
#pragma once

#include <cstdint>

namespace berth::portable::math {

/// The sine, or cosine, of each of `n` numbers. `out` may be `in`.
void sines(const float* in, int64_t n, float* out);
void cosines(const float* in, int64_t n, float* out);

}  // namespace berth::portable::math
