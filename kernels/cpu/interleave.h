// Two streams of f32 merged into one, or taken apart: the inner part of channel shuffles.
#pragma once

#include <cstdint>

namespace berth::cpu {

/// out[2 i] = a[i], out[2 i + 1] = b[i] for i in [0, n).
void interleave(const float* a, const float* b, int64_t n, float* out);

/// a[i] = in[2 i], b[i] = in[2 i + 1] for i in [0, n).
void deinterleave(const float* in, int64_t n, float* a, float* b);

}  // namespace berth::cpu
