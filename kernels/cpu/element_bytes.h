// The ends of an element-wise chain (element_chain.h) between tensors of other types than f32, for every instruction
// set: elements become floats on their way in, floats bytes on their way out, in registers. A chain from bytes to bytes
// is a table.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace berth::cpu {

/// What whole numbers stand for: (x - zero) * scale.
struct Dequantising {
  float zero = 0;
  float scale = 1;
};

/// out[i] = (in[i] - zero) * scale for i in [0, n). REQUIRES: `from` is u8, i8 or i32.
void dequantise_elements(DType from, const void* in, int64_t n, const Dequantising& by, float* out);

/// What a float is as a byte: min(max(round(x / factor) + zero, low), high), or round(x * factor), and `nan` for NaN.
struct Quantising {
  bool divides = true;
  float factor = 1;
  float zero = 0;
  float low = 0, high = 0;
  float nan = 0;
};

/// Quantises `n` floats. REQUIRES: `to` is u8 or i8, and holds low, high and nan, which are whole numbers; zero is one,
/// too, of at most kMostZero.
constexpr float kMostZero = 65536;
void quantise_elements(const float* in, int64_t n, const Quantising& by, DType to, void* out);

/// The same bytes as floats. `out` may be `in`.
void round_elements(const float* in, int64_t n, const Quantising& by, float* out);

/// Bytes that stand for numbers. REQUIRES: by.zero is a whole number of at most kMostZero.
struct ByteTerm {
  const uint8_t* data = nullptr;
  bool is_signed = false;
  Dequantising by;
};

/// out[i] = quantised(dequantised(a[i]) + dequantised(b[i])) for i in [0, n), in one pass. `out` may be one of them.
/// REQUIRES: as quantise_elements().
void add_bytes(const ByteTerm& a, const ByteTerm& b, int64_t n, const Quantising& by, DType to, void* out);

/// A byte for each byte.
struct ByteTable {
  alignas(64) uint8_t byte[256];
};

/// out[i] = table.byte[in[i]] for i in [0, n). `out` may be `in`.
void look_up_bytes(const ByteTable& table, const uint8_t* in, int64_t n, uint8_t* out);

/// A number for each byte, and the bytes of these numbers: first those that lie first.
struct NumberTable {
  alignas(64) float number[256];
  alignas(64) uint8_t plane[4][256];
};

/// out[i] = table.number[in[i]] for i in [0, n).
void look_up_numbers(const NumberTable& table, const uint8_t* in, int64_t n, float* out);

}  // namespace berth::cpu
