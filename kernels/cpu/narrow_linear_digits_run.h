// The innermost loops of narrow_linear_digits.h, which each instruction set has for itself.
#pragma once

#include "kernels/cpu/narrow_linear_digits.h"

namespace berth::cpu {

/// Whether this processor, or what it is limited to (simd_limit.h), has AVX-512 VNNI.
bool has_vnni();

/// Chunks, of at most `chunk` elements, of a block of the weight's scales.
int64_t digit_chunks_in_block(const NarrowLayout& layout, int64_t chunk = NarrowDigits::kChunk);

/// Where the chunk ends that begins with element `begin`.
int64_t digit_chunk_end(const NarrowLayout& layout, int64_t begin, int64_t chunk = NarrowDigits::kChunk);

/// The power of two that is one over a step, of a chunk whose largest magnitude is `largest`. False where there is
/// none.
bool digit_power(float largest, int* power);

/// 2^n. REQUIRES: -126 <= n <= 127. An element times one is exact.
inline float power_of_two(int n) { return __builtin_bit_cast(float, static_cast<uint32_t>(n + 127) << 23); }

/// What is known of a chunk whose digits have these sums, of steps of 2^-power; weights lie `centre` above zero.
NarrowDigits::Chunk chunk_of(const int32_t (&sums)[NarrowDigits::kDigits], int centre, int power);

/// Some blocks of a panel, or a chunk of one: as much as stays in a first-level cache while rows have their turns.
struct DigitTurn {
  const uint8_t* weight;
  NarrowNumbers numbers;
  int64_t width;        // of the panel
  int64_t rows, block;  // of the weight
};

/// Rows of digits, from the turn's first element on.
struct DigitRows {
  const int8_t* digits;
  int64_t row_bytes;
  const NarrowDigits::Chunk* chunk;
  int64_t row_chunks;
};

/// Bytes from what is read to what is fetched into a first-level cache. The more is computed of a byte, the nearer:
/// about what comes from memory while it answers. Farther ahead, requests wait for one another: of a weight of 500 MB
/// two pages made 0.69 (4 bits) and 0.74 (8 bits) of the speed of reading on a Xeon, these 0.88 and 0.94
/// (bench/README.md).
constexpr int64_t digits_ahead(int64_t bits) { return bits == 4 ? 1536 : 2560; }

struct DigitFunctions {
  /// The largest magnitude; NaN is the largest of all.
  float (*largest)(const float* x, int64_t n);
  /// x[i] * steps, rounded and then times 2^shift, as digits: of four elements the first digits, then the second ones,
  /// then the third. Sets the sums of each digit. May write 48 bytes behind the last digit.
  void (*split)(const float* x, int64_t n, float steps, int shift, int8_t* to, int32_t* sums);
  /// Adds the products of `count` rows to out[i * 64 + j].
  void (*add)(const DigitTurn& turn, DigitRows rows, int64_t count, float* out);
};

/// For weights of 8 or 4 bits; of two digits, the first one must be 0. REQUIRES: the processor is an x86 with AVX-512
/// VNNI.
DigitFunctions vnni_digit_functions(int64_t bits, int64_t digits);
/// For weights of 4 bits. REQUIRES: the processor is an x86 with AVX2, FMA and F16C.
DigitFunctions avx2_digit_functions();

}  // namespace berth::cpu
