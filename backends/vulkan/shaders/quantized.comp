#version 450
#extension GL_GOOGLE_include_directive : require
#ifdef DOT
#extension GL_EXT_spirv_intrinsics : require
#endif
// Products and convolutions of 8-bit integers, as quantized.glsl finishes them: an invocation computes four rows by
// four columns. WORDS_OF_BYTES: the channels of A and B lie side by side, four in a word, which quantized_products.cc
// has checked. DOT: by the device's own dot product of such words.
//
// Buffers: C, A, B, the scale, the bias, the residual, the input's scale and zero point, the weight's zero point.
#define ANY_TYPE
#define BUFFERS 9
#include "common.glsl"
#include "product_numbers.glsl"
const int ROWS = 4;
const int COLUMNS = 4;
#include "quantized.glsl"

void main() {
  ITEM
  const int rows = N_ROWS;
  const int columns = N_COLUMNS;
  const int column_tiles = (columns + COLUMNS - 1) / COLUMNS;
  const int row_tiles = (rows + ROWS - 1) / ROWS;
  // Neighbours write what lies side by side: groups, then rows.
  const int inner = item % INNER_BATCH;
  const int tile = item / INNER_BATCH;
  const int first_row = tile % row_tiles * ROWS;
  const int first_column = tile / row_tiles % column_tiles * COLUMNS;
  const int outer = tile / row_tiles / column_tiles;
  const int own = outer * BIAS_BATCH(0) + inner * BIAS_BATCH(1);
  const int at_b = BEGIN(2) + FIRST_B + outer * BATCH(0, 1) + inner * BATCH(1, 1);
  const int at_a = BEGIN(1) + FIRST_A + outer * BATCH(0, 0) + inner * BATCH(1, 0);
  const ivec3 counts = AXES(0);
  const ivec3 sizes = AXES(1);
  const ivec3 taps = AXES(4);
  const ivec3 tap_steps = AXES(5);
  const ivec3 taps_a = AXES(6);
  const ivec3 strides_b = AXES(7);
  const int channels = CHANNELS;

  int row_a[ROWS];
  int weight_zeros[ROWS];
  for (int i = 0; i < ROWS; ++i) {
    const int row = min(first_row + i, rows - 1);
    row_a[i] = at_a + row * ROW_A;
    weight_zeros[i] = weight_zero_of(own + row);
  }
  ivec3 spots[COLUMNS];  // of tap 0, in input elements
  int input_zeros[COLUMNS];
  for (int j = 0; j < COLUMNS; ++j) {
    const int column = min(first_column + j, columns - 1);
    spots[j] = position_of(column, counts) * AXES(2) + AXES(3);
    input_zeros[j] = input_zero_of(column);
  }
  int sums[ROWS][COLUMNS];
  for (int i = 0; i < ROWS; ++i) {
    for (int j = 0; j < COLUMNS; ++j) sums[i][j] = 0;
  }
#ifdef WORDS_OF_BYTES
  const uint signs_a = signs(a_type);
  const uint signs_b = signs(b_type);
  int sums_a[ROWS];
  int sums_b[COLUMNS];
  for (int i = 0; i < ROWS; ++i) {
    sums_a[i] = 0;
    weight_zeros[i] = moved(a_type, weight_zeros[i]);
  }
  for (int j = 0; j < COLUMNS; ++j) {
    sums_b[j] = 0;
    input_zeros[j] = moved(b_type, input_zeros[j]);
  }
#endif
  const int all_taps = taps.x * taps.y * taps.z;
  ivec3 tap = ivec3(0);
  for (int t = 0; t < all_taps; ++t) {
    const int tap_a = along(tap, taps_a);
    int place_b[COLUMNS];
    bool inside[COLUMNS];
    for (int j = 0; j < COLUMNS; ++j) {
      const ivec3 spot = spots[j] + tap * tap_steps;
      inside[j] = all(greaterThanEqual(spot, ivec3(0))) && all(lessThan(spot, sizes));
      place_b[j] = at_b + (inside[j] ? along(spot, strides_b) : 0);
    }
    tap.z += 1;
    if (tap.z == taps.z) tap = ivec3(tap.x, tap.y + 1, 0);
    if (tap.y == taps.y) tap = ivec3(tap.x + 1, 0, 0);
#ifdef WORDS_OF_BYTES
    for (int k = 0; k < channels; k += 4) {
      uint found[COLUMNS];
      for (int j = 0; j < COLUMNS; ++j) {
        const uint read = b_32[place_b[j] + k >> 2] ^ signs_b;
        found[j] = inside[j] ? read : four_of(input_zeros[j]);
        sums_b[j] += dot_of(found[j], 0x01010101u);
      }
      for (int i = 0; i < ROWS; ++i) {
        const uint other = a_32[row_a[i] + tap_a + k >> 2] ^ signs_a;
        sums_a[i] += dot_of(other, 0x01010101u);
        for (int j = 0; j < COLUMNS; ++j) sums[i][j] += dot_of(other, found[j]);
      }
    }
#else
    for (int k = 0; k < channels; ++k) {
      int found[COLUMNS];
      for (int j = 0; j < COLUMNS; ++j) {
        const int read = WHOLE(b, place_b[j] + k * CHANNEL_B) - input_zeros[j];
        found[j] = inside[j] ? read : 0;
      }
      for (int i = 0; i < ROWS; ++i) {
        const int other = WHOLE(a, row_a[i] + tap_a + k * CHANNEL_A) - weight_zeros[i];
        for (int j = 0; j < COLUMNS; ++j) sums[i][j] += other * found[j];
      }
    }
#endif
  }
  for (int i = 0; i < ROWS; ++i) {
    for (int j = 0; j < COLUMNS; ++j) ends[4 * j + i] = sums[i][j];
  }
#ifdef WORDS_OF_BYTES
  const int depth = all_taps * channels;
  for (int i = 0; i < ROWS; ++i) {
    for (int j = 0; j < COLUMNS; ++j) {
      ends[4 * j + i] += weight_zeros[i] * (depth * input_zeros[j] - sums_b[j]) - input_zeros[j] * sums_a[i];
    }
  }
#endif
  const int at_c = BEGIN(0) + FIRST_C + outer * BATCH(0, 2) + inner * BATCH(1, 2);
  const int at_residual = outer * RESIDUAL_BATCH(0) + inner * RESIDUAL_BATCH(1);
  put_all(Places(first_row, first_column, 1, own, at_c, at_residual), rows);
}
