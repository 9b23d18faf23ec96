#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
// Products and convolutions of 8-bit integers for devices that are processors with vectors of eight lanes, as tile.comp
// has those of floats: a group computes eight rows by 32 columns. Bytes are multiplied in f32, which is exact and takes
// half as long as whole numbers, and summed as whole numbers. VECTORS: A and B have their channels side by side, four a
// word, which quantized_products.cc has checked.
//
// Texels of words: C, A, B, the scale, the bias, the residual, the input's scale and zero point, the weight's zero
// point.
#define BUFFERS 9
#define GROUP 8
#define TEXELS
#include "common.glsl"
#include "product_numbers.glsl"
const int ROWS = 8;
#include "quantized.glsl"

const int COLUMNS = 4;  // of a lane
const int WIDTH = COLUMNS * GROUP;
#ifdef VECTORS
const int STEP = 4;
#define V vec4
#else
const int STEP = 1;
#define V float
#endif
// As LIMIT and ROWS_FIRST of product_numbers.glsl.
#define EDGE NUMBER(kOfTile)
#define BY_ROWS NUMBER(kOfTile + 1)

void main() {
  const int item = group_number();
  const int lane = int(gl_SubgroupInvocationID);
  const int rows = N_ROWS;
  const int columns = N_COLUMNS;
  const int row_tiles = (rows + ROWS - 1) / ROWS;
  const int column_tiles = (columns + WIDTH - 1) / WIDTH;
  const int batch = item / (row_tiles * column_tiles);
  const int tile = item - batch * row_tiles * column_tiles;
  const bool by_rows = BY_ROWS != 0;
  const int split = by_rows ? row_tiles : column_tiles;
  const int major = tile / split;
  const int minor = tile - major * split;
  const int first_row = (by_rows ? minor : major) * ROWS;
  const int first_column = (by_rows ? major : minor) * WIDTH + lane;
  const int outer = batch / INNER_BATCH;
  const int inner = batch - outer * INNER_BATCH;
  const int own = outer * BIAS_BATCH(0) + inner * BIAS_BATCH(1);
  const int at_b = BEGIN(2) + FIRST_B + outer * BATCH(0, 1) + inner * BATCH(1, 1);
  const int my_row = min(first_row + lane, rows - 1);
  const int row_a = BEGIN(1) + FIRST_A + outer * BATCH(0, 0) + inner * BATCH(1, 0) + my_row * ROW_A;
  const ivec3 counts = AXES(0);
  const ivec3 sizes = AXES(1);
  const ivec3 taps = AXES(4);
  const ivec3 tap_steps = AXES(5);
  const ivec3 taps_a = AXES(6);
  const ivec3 strides_b = AXES(7);
  const int channels = CHANNELS;
#ifdef VECTORS
  const uint signs_a = signs(a_type);
  const uint signs_b = signs(b_type);
  const float zero_a = float(moved(a_type, weight_zero_of(own + my_row)));
#else
  const int channel_a = CHANNEL_A;
  const int channel_b = CHANNEL_B;
  const int limit = EDGE;
  const float zero_a = float(weight_zero_of(own + my_row));
#endif
  ivec3 spots[COLUMNS];  // of each column and tap 0, in input elements
  float zeros_b[COLUMNS];
  for (int j = 0; j < COLUMNS; ++j) {
    const int column = min(first_column + j * GROUP, columns - 1);
    spots[j] = position_of(column, counts) * AXES(2) + AXES(3);
    const int zero = input_zero_of(column);
#ifdef VECTORS
    zeros_b[j] = float(moved(b_type, zero));
#else
    zeros_b[j] = float(zero);
#endif
  }
  int sums[ROWS][COLUMNS];
  for (int i = 0; i < ROWS; ++i) {
    for (int j = 0; j < COLUMNS; ++j) sums[i][j] = 0;
  }
  const int all_taps = taps.x * taps.y * taps.z;
  ivec3 tap = ivec3(0);
  for (int t = 0; t < all_taps; ++t) {
    const int place_a = row_a + along(tap, taps_a);
    int place_b[COLUMNS];
    bool inside[COLUMNS];
#ifndef VECTORS
    int edge[COLUMNS];
#endif
    for (int j = 0; j < COLUMNS; ++j) {
      const ivec3 spot = spots[j] + tap * tap_steps;
#ifdef VECTORS
      inside[j] = all(greaterThanEqual(spot, ivec3(0))) && all(lessThan(spot, sizes));
#else
      inside[j] = spot.x >= 0 && spot.x < sizes.x && spot.y >= 0 && spot.y < sizes.y &&
                  (limit != 0 || (spot.z >= 0 && spot.z < sizes.z));
      edge[j] = limit != 0 ? spot.z * strides_b.z : 0;
#endif
      place_b[j] = at_b + (inside[j] ? along(spot, strides_b) : 0);
    }
    tap.z += 1;
    if (tap.z == taps.z) tap = ivec3(tap.x, tap.y + 1, 0);
    if (tap.y == taps.y) tap = ivec3(tap.x + 1, 0, 0);
    for (int k = 0; k < channels; k += STEP) {
      V found[COLUMNS];
#ifdef VECTORS
      const V mine = numbers_of(WORD_AT(a, place_a + k >> 2) ^ signs_a) - zero_a;
      for (int j = 0; j < COLUMNS; ++j) {
        const V read = numbers_of(WORD_AT(b, place_b[j] + k >> 2) ^ signs_b) - zeros_b[j];
        found[j] = inside[j] ? read : V(0.0);
      }
      for (int i = 0; i < ROWS; ++i) {
        const vec4 other = vec4(subgroupShuffle(mine.x, i), subgroupShuffle(mine.y, i), subgroupShuffle(mine.z, i),
                                subgroupShuffle(mine.w, i));
        for (int j = 0; j < COLUMNS; ++j) sums[i][j] += int(dot(other, found[j]));
      }
#else
      const V mine = float(WHOLE(a, place_a + k * channel_a)) - zero_a;
      for (int j = 0; j < COLUMNS; ++j) {
        const bool here = inside[j] && (limit == 0 || (edge[j] + k >= 0 && edge[j] + k < limit));
        const int read = WHOLE(b, here ? place_b[j] + k * channel_b : at_b);
        found[j] = here ? float(read) - zeros_b[j] : 0.0;
      }
      for (int i = 0; i < ROWS; ++i) {
        const float other = subgroupShuffle(mine, i);
        for (int j = 0; j < COLUMNS; ++j) sums[i][j] += int(other * found[j]);
      }
#endif
    }
  }
  for (int i = 0; i < ROWS; ++i) {
    for (int j = 0; j < COLUMNS; ++j) ends[ROWS * j + i] = sums[i][j];
  }
  const int at_c = BEGIN(0) + FIRST_C + outer * BATCH(0, 2) + inner * BATCH(1, 2);
  const int at_residual = outer * RESIDUAL_BATCH(0) + inner * RESIDUAL_BATCH(1);
  // Behind the last item nothing is written.
  put_all(Places(first_row, first_column, GROUP, own, at_c, at_residual), item < ITEMS ? rows : 0);
}
