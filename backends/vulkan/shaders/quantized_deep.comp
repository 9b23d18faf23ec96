#version 450
#extension GL_GOOGLE_include_directive : require
#ifdef DOT
#extension GL_EXT_spirv_intrinsics : require
#endif
// quantized.comp for few elements that are long sums, as deep.comp has those of floats: a group computes one row by
// four columns. Each of its invocations sums a part of the depth, and shared memory adds the parts.
#define ANY_TYPE
#define BUFFERS 9
#define GROUP 128
#include "common.glsl"
#include "product_numbers.glsl"
const int ROWS = 4;
#include "quantized.glsl"

const int COLUMNS = 4;
#ifdef WORDS_OF_BYTES
const int UNIT = 4;  // channels that are read at once
#else
const int UNIT = 1;
#endif

shared int parts[COLUMNS][GROUP];

void main() {
  const int item = group_number();
  if (item >= ITEMS) return;
  const int id = int(gl_LocalInvocationID.x);
  const int columns = N_COLUMNS;
  const int units = CHANNELS / UNIT;
  const ivec3 counts = AXES(0);
  const ivec3 sizes = AXES(1);
  const ivec3 taps = AXES(4);
  const ivec3 tap_steps = AXES(5);
  const ivec3 taps_a = AXES(6);
  const ivec3 strides_b = AXES(7);
  const int column_tiles = (columns + COLUMNS - 1) / COLUMNS;
  const int first_column = item % column_tiles * COLUMNS;
  const int row = item / column_tiles % N_ROWS;
  const int batch = item / column_tiles / N_ROWS;
  const int inner = batch % INNER_BATCH;
  const int outer = batch / INNER_BATCH;
  const int at_a = BEGIN(1) + FIRST_A + outer * BATCH(0, 0) + inner * BATCH(1, 0) + row * ROW_A;
  const int at_b = BEGIN(2) + FIRST_B + outer * BATCH(0, 1) + inner * BATCH(1, 1);
  const int own = outer * BIAS_BATCH(0) + inner * BIAS_BATCH(1) + row;
  const int depth = units * taps.x * taps.y * taps.z;
  const int weight_zero = weight_zero_of(own);

  ivec3 spots[COLUMNS];  // of each column and tap 0, in input elements
  int zeros[COLUMNS];
  int sums[COLUMNS];
  for (int j = 0; j < COLUMNS; ++j) {
    const int column = min(first_column + j, columns - 1);
    spots[j] = position_of(column, counts) * AXES(2) + AXES(3);
    zeros[j] = input_zero_of(column);
    sums[j] = 0;
  }
  for (int at = id; at < depth; at += GROUP) {
    const int tap = at / units;
    const ivec3 position = position_of(tap, taps);
    const int channel = (at - tap * units) * UNIT;
    const ivec3 moved_by = position * tap_steps;
    const int place_a = at_a + along(position, taps_a);
#ifdef WORDS_OF_BYTES
    const uint one = a_32[place_a + channel >> 2] ^ signs(a_type);
    const int sum_a = dot_of(one, 0x01010101u);
    const int zero_a = moved(a_type, weight_zero);
#else
    const int one = WHOLE(a, place_a + channel * CHANNEL_A) - weight_zero;
#endif
    for (int j = 0; j < COLUMNS; ++j) {
      const ivec3 spot = spots[j] + moved_by;
      const bool inside = all(greaterThanEqual(spot, ivec3(0))) && all(lessThan(spot, sizes));
      const int place_b = at_b + (inside ? along(spot, strides_b) : 0);
#ifdef WORDS_OF_BYTES
      const uint other = b_32[place_b + channel >> 2] ^ signs(b_type);
      const int zero_b = moved(b_type, zeros[j]);
      const int sum_b = dot_of(other, 0x01010101u);
      const int product = dot_of(one, other) + zero_a * (4 * zero_b - sum_b) - zero_b * sum_a;
#else
      const int product = one * (WHOLE(b, place_b + channel * CHANNEL_B) - zeros[j]);
#endif
      sums[j] += inside ? product : 0;
    }
  }
  for (int j = 0; j < COLUMNS; ++j) parts[j][id] = sums[j];
  for (int others = GROUP / 2; others > 0; others /= 2) {
    barrier();
    for (int j = 0; j < COLUMNS; ++j) {
      if (id < others) parts[j][id] += parts[j][id + others];
    }
  }
  barrier();
  const int column = first_column + id;
  if (id >= COLUMNS || column >= columns) return;
  const ivec3 position = position_of(column, counts);
  const int from = outer * RESIDUAL_BATCH(0) + inner * RESIDUAL_BATCH(1) + row * RESIDUAL_ROW +
                   along(position, RESIDUAL_AXES);
  const int to = BEGIN(0) + FIRST_C + outer * BATCH(0, 2) + inner * BATCH(1, 2) + row * ROW_C +
                 along(position, AXES(8));
  PUT_BITS(c, to, uvec2(finished(parts[id][0], own, column, from), 0u))
}
