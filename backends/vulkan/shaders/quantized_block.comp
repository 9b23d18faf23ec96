#version 450
#extension GL_GOOGLE_include_directive : require
#ifdef DOT
#extension GL_EXT_spirv_intrinsics : require
#endif
// quantized.comp of words, for cards: a group computes a block of 32 rows by 32 columns. It brings a slice of both
// factors at a time into shared memory, where each word is read eight times; each of its 64 invocations sums four rows
// by four columns. Taps and channels are one run of depth.
#define ANY_TYPE
#define WORDS_OF_BYTES
#define BUFFERS 9
#define GROUP 64
#include "common.glsl"
#include "product_numbers.glsl"
const int ROWS = 4;
#include "quantized.glsl"

const int SIDE = 32;
const int DEPTH = 8;      // words of a slice
const int EACH = ROWS;    // rows, which lie side by side, and columns, eight apart, of an invocation
const int READ = SIDE * DEPTH / GROUP;  // words of each factor that an invocation reads of a slice

shared uint slice_a[DEPTH][SIDE + 1];
shared uint slice_b[DEPTH][SIDE + 1];
// Of each column: tap 0 on each axis in input elements, where that is in B, and the input's zero point.
shared int spot_z[SIDE];
shared int spot_y[SIDE];
shared int spot_x[SIDE];
shared int place_b[SIDE];
shared int zero_b[SIDE];

void main() {
  const int item = group_number();
  if (item >= ITEMS) return;
  const int id = int(gl_LocalInvocationID.x);
  const int rows = N_ROWS;
  const int columns = N_COLUMNS;
  const int words = CHANNELS / 4;
  const ivec3 counts = AXES(0);
  const ivec3 sizes = AXES(1);
  const ivec3 taps = AXES(4);
  const ivec3 tap_steps = AXES(5);
  const ivec3 taps_a = AXES(6);
  const ivec3 strides_b = AXES(7);
  const int column_blocks = (columns + SIDE - 1) / SIDE;
  const int row_blocks = (rows + SIDE - 1) / SIDE;
  const int first_column = item % column_blocks * SIDE;
  const int first_row = item / column_blocks % row_blocks * SIDE;
  const int batch = item / column_blocks / row_blocks;
  const int inner = batch % INNER_BATCH;
  const int outer = batch / INNER_BATCH;
  const int at_a = BEGIN(1) + FIRST_A + outer * BATCH(0, 0) + inner * BATCH(1, 0);
  const int at_b = BEGIN(2) + FIRST_B + outer * BATCH(0, 1) + inner * BATCH(1, 1);
  const int own = outer * BIAS_BATCH(0) + inner * BIAS_BATCH(1);
  const int depth = words * taps.x * taps.y * taps.z;
  const uint signs_a = signs(a_type);
  const uint signs_b = signs(b_type);

  for (int line = id; line < SIDE; line += GROUP) {
    const int column = min(first_column + line, columns - 1);
    const ivec3 spot = position_of(column, counts) * AXES(2) + AXES(3);
    spot_z[line] = spot.x;
    spot_y[line] = spot.y;
    spot_x[line] = spot.z;
    place_b[line] = at_b + along(spot, strides_b);
    zero_b[line] = moved(b_type, input_zero_of(column));
  }
  const int own_row = id % 8 * EACH;
  const int own_column = id / 8;
  int sums[EACH][EACH];
  int sums_a[EACH];
  int sums_b[EACH];
  for (int i = 0; i < EACH; ++i) {
    sums_a[i] = 0;
    sums_b[i] = 0;
    for (int j = 0; j < EACH; ++j) sums[i][j] = 0;
  }
  for (int from = 0; from < depth; from += DEPTH) {
    // Also between what the slice before was read for and this one.
    barrier();
    for (int i = 0; i < READ; ++i) {
      const int line = id / DEPTH + i * (GROUP / DEPTH);
      const int at = from + id % DEPTH;
      const int tap = at / words;
      const ivec3 position = position_of(tap, taps);
      const int channel = (at - tap * words) * 4;
      const bool there_a = at < depth && first_row + line < rows;
      const int place_a = at_a + (first_row + line) * ROW_A + along(position, taps_a) + channel;
      const uint found_a = a_32[(there_a ? place_a : at_a) >> 2] ^ signs_a;
      slice_a[id % DEPTH][line] = there_a ? found_a : 0u;

      const ivec3 spot = ivec3(spot_z[line], spot_y[line], spot_x[line]) + position * tap_steps;
      const bool inside = all(greaterThanEqual(spot, ivec3(0))) && all(lessThan(spot, sizes));
      const bool there_b = at < depth && inside;
      const int moved_b = place_b[line] + along(position * tap_steps, strides_b) + channel;
      const uint found_b = b_32[(there_b ? moved_b : at_b) >> 2] ^ signs_b;
      // Padding holds the zero point; what is behind the depth counts for nothing.
      slice_b[id % DEPTH][line] = there_b ? found_b : at < depth ? four_of(zero_b[line]) : 0u;
    }
    barrier();
    for (int k = 0; k < DEPTH; ++k) {
      uint one[EACH];
      uint other[EACH];
      for (int i = 0; i < EACH; ++i) {
        one[i] = slice_a[k][own_row + i];
        other[i] = slice_b[k][own_column + 8 * i];
        sums_a[i] += dot_of(one[i], 0x01010101u);
        sums_b[i] += dot_of(other[i], 0x01010101u);
      }
      for (int i = 0; i < EACH; ++i) {
        for (int j = 0; j < EACH; ++j) sums[i][j] += dot_of(one[i], other[j]);
      }
    }
  }

  for (int j = 0; j < EACH; ++j) {
    const int zero = zero_b[own_column + 8 * j];
    for (int i = 0; i < EACH; ++i) {
      const int row = min(first_row + own_row + i, rows - 1);
      const int weight_zero = moved(a_type, weight_zero_of(own + row));
      ends[4 * j + i] = sums[i][j] + weight_zero * (4 * depth * zero - sums_b[j]) - zero * sums_a[i];
    }
  }
  const int at_c = BEGIN(0) + FIRST_C + outer * BATCH(0, 2) + inner * BATCH(1, 2);
  const int at_residual = outer * RESIDUAL_BATCH(0) + inner * RESIDUAL_BATCH(1);
  put_all(Places(first_row + own_row, first_column + own_column, 8, own, at_c, at_residual), rows);
}
