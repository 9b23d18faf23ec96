// The tile functions of one instruction set, and with them its packing and sliding windows. Included once by each
// gemm_tile_*.cc, inside its own namespace, after
//
//   BERTH_TARGET   the attribute that allows the instruction set
//   Vector         a register of floats (a vector extension of the compiler)
//
// No include guard: the text is meant to be compiled several times.

#if defined(__clang__)
#define BERTH_UNROLL _Pragma("clang loop unroll(full)")
#else
#define BERTH_UNROLL _Pragma("GCC unroll 16")
#endif

constexpr int kVector = static_cast<int>(sizeof(Vector) / sizeof(float));

template <int kRows, int kVectors>
BERTH_TARGET void tile(const Tile& t) {
  Vector sum[kRows][kVectors];
  BERTH_UNROLL
  for (int i = 0; i < kRows; ++i) {
    BERTH_UNROLL
    for (int v = 0; v < kVectors; ++v) sum[i][v] = Vector{};
  }
  const float* a = t.a;
  const float* b = t.b;
  for (int64_t k = 0; k < t.depth; ++k, a += kRows, b += t.b_step) {
    Vector row[kVectors];
    BERTH_UNROLL
    for (int v = 0; v < kVectors; ++v) __builtin_memcpy(&row[v], b + v * kVector, sizeof(Vector));
    BERTH_UNROLL
    for (int i = 0; i < kRows; ++i) {
      BERTH_UNROLL
      for (int v = 0; v < kVectors; ++v) sum[i][v] += a[i] * row[v];
    }
  }
  // Added last, so that a sum over many blocks of depth is a sum of short sums: its error grows with the length of a
  // block, not with the whole depth.
  if (t.start != nullptr) {
    BERTH_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const float* start = t.start + i * t.start_row;
      BERTH_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        Vector before;
        if (t.start_column == 0) {
          before = *start - Vector{};
        } else {
          __builtin_memcpy(&before, start + v * kVector, sizeof(Vector));
        }
        sum[i][v] += t.start_scale * before;
      }
    }
  }
  BERTH_UNROLL
  for (int i = 0; i < kRows; ++i) {
    BERTH_UNROLL
    for (int v = 0; v < kVectors; ++v) __builtin_memcpy(t.c + i * t.c_row + v * kVector, &sum[i][v], sizeof(Vector));
  }
}

#include "kernels/portable/conv_window_body.h"
#include "kernels/portable/gemm_pack_body.h"
