// The innermost loops of narrow_linear_planes.h.
#pragma once

#include "kernels/cpu/narrow_linear_planes.h"

namespace berth::cpu {

/// Of a register: rows of the input or columns of the weight, and elements of the depth.
constexpr int64_t kPlaneRows = 16;
constexpr int64_t kPlaneDepth = 64;

/// A chunk of a panel, and what its columns have.
struct PlaneTurn {
  const uint8_t* weight;  // for each 64 rows of the weight, a register of each 16 columns
  NarrowNumbers numbers;
  int64_t width;      // of the panel
  int64_t registers;  // of the depth
};

/// Rows of planes, from the turn's first element on.
struct PlaneRows {
  const int8_t* planes;
  int64_t row_bytes, plane_bytes;
  const NarrowDigits::Chunk* chunk;
  int64_t row_chunks;
};

struct PlaneFunctions {
  /// x[i] * steps, rounded and then times 2^shift, as digits, each in its own plane. Sets the sums of each digit.
  void (*split)(const float* x, int64_t n, float steps, int shift, int8_t* to, int64_t plane_bytes, int32_t* sums);
  /// `rows` rows of the weight as registers; those of the last that have no rows are zero.
  void (*widen)(const uint8_t* weight, int64_t width, int64_t rows, uint8_t* to);
  /// Adds the products of `count` rows to out[i * 64 + j].
  void (*add)(const PlaneTurn& turn, PlaneRows rows, int64_t count, float* out);
};

/// For weights of 8 or 4 bits; of two digits, the first one must be 0. REQUIRES: the processor is an x86 with AVX-512
/// VNNI and AMX's products of bytes, which this process may use.
PlaneFunctions amx_plane_functions(int64_t bits, int64_t digits);

}  // namespace berth::cpu
