// The innermost loops of narrow_linear_bytes.h.
#pragma once

#include "kernels/cpu/narrow_linear_bytes.h"

namespace berth::cpu {

/// Rows of the input that have their turns together.
constexpr int64_t kByteRows = 6;

/// Some blocks of a panel, or some chunks of one: as much as stays in a first-level cache while rows have their turns.
struct ByteTurn {
  const uint8_t* weight;
  NarrowNumbers numbers;
  int64_t width;        // of the panel
  int64_t rows, block;  // of the weight
};

/// Rows of bytes, from the turn's first element on.
struct ByteRows {
  const int8_t* bytes;
  int64_t row_bytes;
  const NarrowBytes::Chunk* chunk;
  int64_t row_chunks;
};

/// Bytes from what is read of a weight to what is fetched into a first-level cache.
constexpr int64_t kBytesAhead = 2560;

/// Chunks whose largest element is smaller are zeros: from 2^-119 down a step would be denormal.
constexpr float kSmallestByteChunk = 0x1p-116f;

struct ByteFunctions {
  /// A row of layout.depth elements as bytes and what is known of its chunks. The step of a chunk with an element that
  /// is not finite is NaN. May write 15 bytes behind the last one, zeros.
  void (*split)(const NarrowLayout& layout, const float* x, int8_t* to, NarrowBytes::Chunk* chunk);
  /// Adds the products of `count` rows to out[i * 64 + j].
  void (*add)(const ByteTurn& turn, ByteRows rows, int64_t count, float* out);
};

/// For weights of 8 or 4 bits. REQUIRES: the processor is an x86 with AVX-512 VNNI.
ByteFunctions vnni_byte_functions(int64_t bits);

}  // namespace berth::cpu
