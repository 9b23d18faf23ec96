#version 450
#extension GL_GOOGLE_include_directive : require
// portable::Product as product.comp computes it, for cards: a group computes a block of SIDE rows by SIDE columns. It
// brings a slice of both factors at a time into shared memory, where each element is read SIDE times; each of its 64
// invocations sums SIDE / 8 rows by as many columns. Taps and channels are one run of depth, so that slices are full
// where channels are few.
//
// Neighbours read and write what lies side by side: along the depth or the lines of each factor, along the rows or the
// columns of the result, as products.cc says.
#define BUFFERS 5
#define GROUP 64
#include "common.glsl"
#include "product_numbers.glsl"
#include "product_buffers.glsl"

layout(constant_id = 4) const uint A_BY_ROWS = 0;     // 1: neighbours read along the rows of A, else along its depth
layout(constant_id = 5) const uint B_BY_COLUMNS = 0;  // 1: along the columns of B, else along its depth
layout(constant_id = 6) const uint C_BY_ROWS = 0;     // 1: neighbours write along the rows of C, else along its columns

const int DEPTH = 16;         // of a slice
const int EACH = SIDE / 8;    // rows and columns of an invocation, eight apart
const int READ = SIDE * DEPTH / GROUP;  // elements of each factor that an invocation reads of a slice

shared float slice_a[DEPTH][SIDE + 1];
shared float slice_b[DEPTH][SIDE + 1];
// Of each column: tap 0 on each axis in input elements, and where that is in B.
shared int spot_z[SIDE];
shared int spot_y[SIDE];
shared int spot_x[SIDE];
shared int place_b[SIDE];

// The i-th element that this invocation reads of a slice: which line (a row or a column), at which depth.
ivec2 mine(int i, bool by_lines) {
  const int id = int(gl_LocalInvocationID.x);
  return by_lines ? ivec2(id % SIDE, id / SIDE + i * (GROUP / SIDE)) : ivec2(id / DEPTH + i * (GROUP / DEPTH), id % DEPTH);
}

void main() {
  const int item = group_number();
  if (item >= ITEMS) return;
  const int id = int(gl_LocalInvocationID.x);
  const int rows = N_ROWS;
  const int columns = N_COLUMNS;
  const int channels = CHANNELS;
  const ivec3 counts = AXES(0);
  const ivec3 sizes = AXES(1);
  const ivec3 taps = AXES(4);
  const ivec3 tap_steps = AXES(5);
  const ivec3 taps_a = AXES(6);
  const ivec3 strides_b = AXES(7);
  const ivec3 strides_c = AXES(8);
  const int column_blocks = (columns + SIDE - 1) / SIDE;
  const int row_blocks = (rows + SIDE - 1) / SIDE;
  const int first_column = item % column_blocks * SIDE;
  const int first_row = item / column_blocks % row_blocks * SIDE;
  const int batch = item / column_blocks / row_blocks;
  const int inner = batch % INNER_BATCH;
  const int outer = batch / INNER_BATCH;
  const int at_a = BEGIN(1) + FIRST_A + outer * BATCH(0, 0) + inner * BATCH(1, 0);
  const int at_b = BEGIN(2) + FIRST_B + outer * BATCH(0, 1) + inner * BATCH(1, 1);
  const int depth = TAPS == 0u ? channels : channels * taps.x * taps.y * taps.z;

  for (int line = id; line < SIDE; line += GROUP) {
    const int column = first_column + line;
    const ivec3 spot = position_of(min(column, columns - 1), counts) * AXES(2) + AXES(3);
    spot_z[line] = spot.x;
    spot_y[line] = spot.y;
    spot_x[line] = spot.z;
    place_b[line] = at_b + along(spot, strides_b);
  }
  const int own_row = C_BY_ROWS != 0u ? id % 8 : id / 8;
  const int own_column = C_BY_ROWS != 0u ? id / 8 : id % 8;
  float sums[EACH][EACH];
  for (int i = 0; i < EACH; ++i) {
    for (int j = 0; j < EACH; ++j) sums[i][j] = 0.0;
  }
  for (int from = 0; from < depth; from += DEPTH) {
    // Also between what the slice before was read for and this one.
    barrier();
    for (int i = 0; i < READ; ++i) {
      const ivec2 to = mine(i, A_BY_ROWS != 0u);
      const int at = from + to.y;
      const bool there = at < depth && first_row + to.x < rows;
      int place = 0;
      if (TAPS == 0u) {
        place = at * CHANNEL_A;
      } else {
        const int tap = at / channels;
        place = along(position_of(tap, taps), taps_a) + (at - tap * channels) * CHANNEL_A;
      }
      const float found = AT(a, there ? at_a + (first_row + to.x) * ROW_A + place : at_a);
      slice_a[to.y][to.x] = there ? found : 0.0;
    }
    for (int i = 0; i < READ; ++i) {
      const ivec2 to = mine(i, B_BY_COLUMNS != 0u);
      const int at = from + to.y;
      bool there = at < depth && first_column + to.x < columns;
      int place = place_b[to.x];
      if (TAPS == 0u) {
        place += at * CHANNEL_B;
      } else {
        const int tap = at / channels;
        const ivec3 moved = position_of(tap, taps) * tap_steps;
        const ivec3 spot = ivec3(spot_z[to.x], spot_y[to.x], spot_x[to.x]) + moved;
        there = there && all(greaterThanEqual(spot, ivec3(0))) && all(lessThan(spot, sizes));
        place += along(moved, strides_b) + (at - tap * channels) * CHANNEL_B;
      }
      const float found = AT(b, there ? place : at_b);
      slice_b[to.y][to.x] = there ? found : 0.0;
    }
    barrier();
    for (int k = 0; k < DEPTH; ++k) {
      float one[EACH];
      float other[EACH];
      for (int i = 0; i < EACH; ++i) {
        one[i] = slice_a[k][own_row + 8 * i];
        other[i] = slice_b[k][own_column + 8 * i];
      }
      for (int i = 0; i < EACH; ++i) {
        for (int j = 0; j < EACH; ++j) sums[i][j] += one[i] * other[j];
      }
    }
  }

  const int at_c = FIRST_C + outer * BATCH(0, 2) + inner * BATCH(1, 2);
  for (int j = 0; j < EACH; ++j) {
    const int column = first_column + own_column + 8 * j;
    if (column >= columns) continue;
    const int along_c = at_c + along(position_of(column, counts), strides_c);
    for (int i = 0; i < EACH; ++i) {
      const int row = first_row + own_row + 8 * i;
      if (row >= rows) continue;
      finish(sums[i][j], row, column, outer, inner, along_c + row * ROW_C);
    }
  }
}
