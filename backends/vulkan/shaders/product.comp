#version 450
#extension GL_GOOGLE_include_directive : require
// portable::Product (kernels/portable/gemm.h): products of matrices, convolutions, phases of transposed ones; then a
// bias, what is added, and an activation. An invocation computes ROWS rows by COLUMNS columns. VECTORS: A's rows and
// B's columns are read four elements at a time, which products.cc has checked.
#define BUFFERS 5
#include "common.glsl"
#include "product_numbers.glsl"
#include "product_buffers.glsl"

void main() {
  const int item = item_number();
  if (item >= ITEMS) return;
  const int column_tiles = (N_COLUMNS + COLUMNS - 1) / COLUMNS;
  const int row_tiles = (N_ROWS + ROWS - 1) / ROWS;
  const int first_column = item % column_tiles * COLUMNS;
  const int first_row = item / column_tiles % row_tiles * ROWS;
  const int batch = item / column_tiles / row_tiles;
  const int inner = batch % INNER_BATCH;
  const int outer = batch / INNER_BATCH;
  const int at_a = BEGIN(1) + FIRST_A + outer * BATCH(0, 0) + inner * BATCH(1, 0);
  const int at_b = BEGIN(2) + FIRST_B + outer * BATCH(0, 1) + inner * BATCH(1, 1);
  const int channels = CHANNELS;
  const int channel_a = CHANNEL_A;
  const int channel_b = CHANNEL_B;

  int row_a[ROWS];
  for (int i = 0; i < ROWS; ++i) row_a[i] = at_a + min(first_row + i, N_ROWS - 1) * ROW_A;
  int spot[3][COLUMNS];   // of position and tap 0, in input elements
  int place_c[COLUMNS];
  for (int j = 0; j < COLUMNS; ++j) {
    const int column = min(first_column + j, N_COLUMNS - 1);
    const int x = column % AXIS(2, 0);
    const int y = column / AXIS(2, 0) % AXIS(1, 0);
    const int z = column / AXIS(2, 0) / AXIS(1, 0);
    place_c[j] = z * AXIS(0, 8) + y * AXIS(1, 8) + x * AXIS(2, 8);
    spot[0][j] = z * AXIS(0, 2) + AXIS(0, 3);
    spot[1][j] = y * AXIS(1, 2) + AXIS(1, 3);
    spot[2][j] = x * AXIS(2, 2) + AXIS(2, 3);
  }

  float sums[ROWS][COLUMNS];
  for (int i = 0; i < ROWS; ++i) {
    for (int j = 0; j < COLUMNS; ++j) sums[i][j] = 0.0;
  }
#ifdef VECTORS
  int column_b[COLUMNS / 4];
  for (int j = 0; j < COLUMNS / 4; ++j) column_b[j] = (at_b + min(first_column + 4 * j, N_COLUMNS - 4)) / 4;
  for (int k = 0; k < channels; k += 4) {
    vec4 factor[4][COLUMNS / 4];
    for (int q = 0; q < 4; ++q) {
      for (int j = 0; j < COLUMNS / 4; ++j) factor[q][j] = FOUR_AT(b, column_b[j] + (k + q) * (channel_b / 4));
    }
    for (int i = 0; i < ROWS; ++i) {
      const vec4 other = FOUR_AT(a, (row_a[i] + k) / 4);
      for (int j = 0; j < COLUMNS; ++j) {
        for (int q = 0; q < 4; ++q) sums[i][j] += other[q] * factor[q][j / 4][j % 4];
      }
    }
  }
#else
  if (TAPS == 0u) {
    int place_b[COLUMNS];
    for (int j = 0; j < COLUMNS; ++j) {
      place_b[j] = at_b + spot[0][j] * AXIS(0, 7) + spot[1][j] * AXIS(1, 7) + spot[2][j] * AXIS(2, 7);
    }
    for (int k = 0; k < channels; ++k) {
      float factor[COLUMNS];
      for (int j = 0; j < COLUMNS; ++j) factor[j] = AT(b, place_b[j] + k * channel_b);
      for (int i = 0; i < ROWS; ++i) {
        const float other = AT(a, row_a[i] + k * channel_a);
        for (int j = 0; j < COLUMNS; ++j) sums[i][j] += other * factor[j];
      }
    }
  } else {
    for (int tz = 0; tz < AXIS(0, 4); ++tz) {
      for (int ty = 0; ty < AXIS(1, 4); ++ty) {
        for (int tx = 0; tx < AXIS(2, 4); ++tx) {
          int place_b[COLUMNS];
          bool inside[COLUMNS];
          for (int j = 0; j < COLUMNS; ++j) {
            const int z = spot[0][j] + tz * AXIS(0, 5);
            const int y = spot[1][j] + ty * AXIS(1, 5);
            const int x = spot[2][j] + tx * AXIS(2, 5);
            inside[j] = z >= 0 && z < AXIS(0, 1) && y >= 0 && y < AXIS(1, 1) && x >= 0 && x < AXIS(2, 1);
            place_b[j] = at_b + (inside[j] ? z * AXIS(0, 7) + y * AXIS(1, 7) + x * AXIS(2, 7) : 0);
          }
          const int tap_a = tz * AXIS(0, 6) + ty * AXIS(1, 6) + tx * AXIS(2, 6);
          for (int k = 0; k < channels; ++k) {
            float factor[COLUMNS];
            for (int j = 0; j < COLUMNS; ++j) {
              const float found = AT(b, place_b[j] + k * channel_b);
              factor[j] = inside[j] ? found : 0.0;
            }
            for (int i = 0; i < ROWS; ++i) {
              const float other = AT(a, row_a[i] + tap_a + k * channel_a);
              for (int j = 0; j < COLUMNS; ++j) sums[i][j] += other * factor[j];
            }
          }
        }
      }
    }
  }

#endif
  const int at_c = FIRST_C + outer * BATCH(0, 2) + inner * BATCH(1, 2);
  for (int i = 0; i < ROWS; ++i) {
    for (int j = 0; j < COLUMNS; ++j) {
      const int row = first_row + i;
      const int column = first_column + j;
      if (row >= N_ROWS || column >= N_COLUMNS) continue;
      finish(sums[i][j], row, column, outer, inner, at_c + row * ROW_C + place_c[j]);
    }
  }
}
