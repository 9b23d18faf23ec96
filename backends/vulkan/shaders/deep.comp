#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// portable::Product as product.comp computes it, for few elements that are long sums: a group computes one row by four
// columns. Each of its invocations sums a part of the depth, and shared memory adds the parts.
//
// Loops come round once for 16 elements, and so less than 65536 times for any tensor that lavapipe can see.
#define BUFFERS 5
#define GROUP 128
#include "common.glsl"
#include "product_numbers.glsl"
#include "product_buffers.glsl"

const int COLUMNS = 4;
const int ROUND = 16;  // elements of an invocation

shared float parts[COLUMNS][GROUP];

void main() {
  const int item = group_number();
  if (item >= ITEMS) return;
  const int id = int(gl_LocalInvocationID.x);
  const int columns = N_COLUMNS;
  const int channels = CHANNELS;
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
  const int depth = TAPS == 0u ? channels : channels * taps.x * taps.y * taps.z;

  ivec3 spots[COLUMNS];  // of each column and tap 0, in input elements
  int place_b[COLUMNS];
  float sums[COLUMNS];
  for (int j = 0; j < COLUMNS; ++j) {
    spots[j] = position_of(min(first_column + j, columns - 1), counts) * AXES(2) + AXES(3);
    place_b[j] = at_b + along(spots[j], strides_b);
    sums[j] = 0.0;
  }
  for (int from = id; from < depth; from += GROUP * ROUND) {
    [[unroll]] for (int i = 0; i < ROUND; ++i) {
      const int at = from + i * GROUP;
      const bool there = at < depth;
      int from_a = at * CHANNEL_A;
      int from_b = at * CHANNEL_B;
      ivec3 moved = ivec3(0);
      if (TAPS != 0u) {
        const int tap = at / channels;
        const ivec3 tap_at = position_of(tap, taps);
        moved = tap_at * tap_steps;
        from_a = along(tap_at, taps_a) + (at - tap * channels) * CHANNEL_A;
        from_b = along(moved, strides_b) + (at - tap * channels) * CHANNEL_B;
      }
      const float one = AT(a, there ? at_a + from_a : at_a);
      for (int j = 0; j < COLUMNS; ++j) {
        const ivec3 spot = spots[j] + moved;
        const bool inside = there && (TAPS == 0u || (all(greaterThanEqual(spot, ivec3(0))) && all(lessThan(spot, sizes))));
        const float other = AT(b, inside ? place_b[j] + from_b : at_b);
        sums[j] += inside ? one * other : 0.0;
      }
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
  const int at_c = FIRST_C + outer * BATCH(0, 2) + inner * BATCH(1, 2);
  finish(parts[id][0], row, column, outer, inner, at_c + row * ROW_C + along(position_of(column, counts), AXES(8)));
}
