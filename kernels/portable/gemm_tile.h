// The innermost part of every product: one tile of the result, held in registers while the depth runs by.
//
//   C[i, j] = (sum over k of A[k, i] * B[k, j]) + start        0 <= i < rows, 0 <= j < columns
//
// A tile set is the family of such functions for one instruction set. All sets add in the same order, k by k and the
// start last, so that those that fuse multiplication and addition give the same bits.
#pragma once

#include <cstdint>

#include "kernels/portable/gemm.h"
#include "kernels/portable/instruction_sets.h"

namespace berth::portable {

struct Tile {
  int64_t depth = 0;
  const float* a = nullptr;  // packed: A[k, i] at a[k * rows + i]
  const float* b = nullptr;  // B[k, j] at b[k * b_step + j]
  int64_t b_step = 0;
  /// What is added to the sums: nothing when null, else start_scale * start[i * start_row + j * start_column], where
  /// start_column is 0 or 1. May be c itself.
  const float* start = nullptr;
  int64_t start_row = 0;
  int64_t start_column = 0;
  float start_scale = 1;
  float* c = nullptr;  // C[i, j] at c[i * c_row + j]
  int64_t c_row = 0;
};

using TileFunction = void (*)(const Tile&);

/// Copies rows [first, first + rows) of A at depths [k0, k0 + depth), times a_scale, to out[k * rows + r]. `a` is the A
/// of one batch.
using PackRowsFunction = void (*)(const Product& product, const float* a, int64_t first, int rows, int64_t k0,
                                  int64_t depth, float* out);

/// Copies columns [first, first + valid) of B at depths [k0, k0 + depth) to out[k * width + j]; columns from valid to
/// width become 0. `b` is the B of one batch. REQUIRES: 0 < valid <= width <= kMaxTileColumns.
using PackColumnsFunction = void (*)(const Product& product, const float* b, int64_t first, int valid, int width,
                                     int64_t k0, int64_t depth, float* out);

/// The sliding windows of conv_window.h: out[i] = start + sum over t of weights[t] * in[i + offsets[t]], and the
/// largest in[i + offsets[t]], for 0 <= i < n. Both may read and write up to kMaxTileColumns - 1 elements past the end.
using WindowSumFunction = void (*)(const float* in, const int64_t* offsets, const float* weights, int taps, float start,
                                   int64_t n, float* out);
using WindowMaxFunction = void (*)(const float* in, const int64_t* offsets, int taps, int64_t n, float* out);

constexpr int kMaxTileRows = 14;
constexpr int kMaxTileColumns = 64;

struct TileSet {
  const char* name = nullptr;
  int vector = 0;    // floats in a register; tiles are 1, 2 or 4 of them wide
  int max_rows = 0;  // of tiles one or two vectors wide
  int max_rows_wide = 0;
  TileFunction one[kMaxTileRows + 1] = {};  // [rows]
  TileFunction two[kMaxTileRows + 1] = {};
  TileFunction four[kMaxTileRows + 1] = {};
  PackRowsFunction pack_rows = nullptr;
  PackColumnsFunction pack_columns = nullptr;
  WindowSumFunction window_sum = nullptr;
  WindowMaxFunction window_max = nullptr;
};

/// Whether B is a plain matrix: one column axis, no taps, nothing outside the input.
inline bool is_matrix(const Product& p) {
  return p.taps() == 1 && p.axis[0].count * p.axis[1].count == 1 && p.axis[0].origin == 0 && p.axis[1].origin == 0 &&
         p.axis[2].origin == 0 && p.axis[2].step == 1 && p.axis[2].size == p.axis[2].count;
}

/// The best set for the processor that runs this.
const TileSet& best_tile_set();

/// Every set that this processor can run, the plain one first; for tests. Returns how many it wrote to `sets`.
int available_tile_sets(const TileSet* (&sets)[3]);

extern const TileSet kPlainTiles;
#if defined(__x86_64__) && !defined(BERTH_PLAIN)
#define BERTH_AVX2_TILES BERTH_WITH_AVX2
#define BERTH_AVX512_TILES BERTH_WITH_AVX512
extern const TileSet kAvx2Tiles;
extern const TileSet kAvx512Tiles;
#endif

}  // namespace berth::portable
