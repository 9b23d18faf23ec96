// Interleaving two to four streams of f32 or of bytes, and the reverse: the inner loop of channel shuffles, and of
// permutations between planes and pixels for images with few channels.
#pragma once

#include <cstdint>

namespace berth::cpu {

constexpr int kMaxStreams = 4;

/// out[count * i + s] = in[s * stride + i] for i in [0, n). REQUIRES: 2 <= count <= kMaxStreams.
void interleave(const float* in, int64_t stride, int count, int64_t n, float* out);
void interleave(const uint8_t* in, int64_t stride, int count, int64_t n, uint8_t* out);

/// out[s * stride + i] = in[count * i + s] for i in [0, n). REQUIRES: 2 <= count <= kMaxStreams.
void deinterleave(const float* in, int count, int64_t n, float* out, int64_t stride);
void deinterleave(const uint8_t* in, int count, int64_t n, uint8_t* out, int64_t stride);

struct RowPair {
  const float* a;
  const float* b;
  int64_t in_row;  // from one row of a or b to the next
  int64_t n;       // elements of a row
  int64_t rows;
  float* out;  // rows of 2 * n, one after the other
};

/// Elements 2 i and 2 i + 1 of each row of the output are element i of that row of a and of b.
void interleave_rows(const RowPair& pair);

}  // namespace berth::cpu
