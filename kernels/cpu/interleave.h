// Two to four streams of f32 merged into one, or taken apart: the inner part of channel shuffles, and of images with
// few channels that change between planes and pixels.
#pragma once

#include <cstdint>

namespace berth::cpu {

constexpr int kMaxStreams = 4;

/// out[count * i + s] = in[s * apart + i] for i in [0, n). REQUIRES: 2 <= count <= kMaxStreams.
void interleave(const float* in, int64_t apart, int count, int64_t n, float* out);

/// out[s * apart + i] = in[count * i + s] for i in [0, n). REQUIRES: 2 <= count <= kMaxStreams.
void deinterleave(const float* in, int count, int64_t n, float* out, int64_t apart);

}  // namespace berth::cpu
