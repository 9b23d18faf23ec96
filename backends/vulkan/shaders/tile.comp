#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
// portable::Product as product.comp computes it, for devices that are processors with vectors of eight lanes: a group
// computes eight rows by 16 columns. A lane reads a row of A for all lanes, which get it by shuffles, and has two
// columns. VECTORS: A and B have their channels side by side, four a texel, and C its rows; tiles.cc has checked that.
// It has 32 columns, four a lane: with as many, what computes a channel at a time takes a third longer to compile, and
// only convolutions of a picture, which need it, a tenth less to run.
//
// Loops are few and run over numbers, so that one pipeline does for all sizes: compiling one takes a tenth of a second.
//
// Texels: C, A, B, the bias, what is added (`start`).
#define BUFFERS 5
#define GROUP 8
#include "common.glsl"
#include "product_numbers.glsl"

layout(constant_id = 0) const uint ACTIVATION = 2;  // as in activated(); 2 does for none and relu too
layout(constant_id = 1) const uint BIAS = 3;        // BIAS_KIND, or 3: what the number says; the same for START_KIND
layout(constant_id = 2) const uint START = 3;

#ifdef VECTORS
layout(set = 0, binding = 1, rgba32f) uniform writeonly imageBuffer c;
#else
layout(set = 0, binding = 1, r32f) uniform writeonly imageBuffer c;
#endif
layout(set = 0, binding = 2) uniform samplerBuffer a;
layout(set = 0, binding = 3) uniform samplerBuffer b;
layout(set = 0, binding = 4) uniform samplerBuffer bias;
layout(set = 0, binding = 5) uniform samplerBuffer start;

const int ROWS = 8;
#ifdef VECTORS
const int COLUMNS = 4;  // of a lane
#else
const int COLUMNS = 2;
#endif
const int WIDTH = COLUMNS * GROUP;

float finished(float x, float low, float high) {
  return ACTIVATION == 2u ? bounded(x, low, high) : activated(ACTIVATION, x, low, high);
}

void main() {
  const int item = group_number();
  const int lane = int(gl_SubgroupInvocationID);
  const int rows = N_ROWS;
  const int columns = N_COLUMNS;
  const int row_tiles = (rows + ROWS - 1) / ROWS;
  const int column_tiles = (columns + WIDTH - 1) / WIDTH;
  const int batch = item / (row_tiles * column_tiles);
  const int tile = item - batch * row_tiles * column_tiles;
  const bool by_rows = ROWS_FIRST != 0;
  const int split = by_rows ? row_tiles : column_tiles;
  const int major = tile / split;
  const int minor = tile - major * split;
  const int first_row = (by_rows ? minor : major) * ROWS;
  const int first_column = (by_rows ? major : minor) * WIDTH;
  // Behind the last item nothing is written.
  const int written_rows = item < ITEMS ? rows : 0;
  const int outer = batch / INNER_BATCH;
  const int inner = batch - outer * INNER_BATCH;
  const int at_b = BEGIN(2) + FIRST_B + outer * BATCH(0, 1) + inner * BATCH(1, 1);
  const int row_a = BEGIN(1) + FIRST_A + outer * BATCH(0, 0) + inner * BATCH(1, 0) +
                    min(first_row + lane, rows - 1) * ROW_A;
  const int at_c = BEGIN(0) + FIRST_C + outer * BATCH(0, 2) + inner * BATCH(1, 2);
  const int at_bias = BEGIN(3) + outer * BIAS_BATCH(0) + inner * BIAS_BATCH(1);
  const int at_start = at_c - BEGIN(0) + BEGIN(4);
  const int at_own = BEGIN(4) + outer * BATCH(0, 3) + inner * BATCH(1, 3);
  const ivec3 counts = AXES(0);
  const ivec3 sizes = AXES(1);
  const ivec3 steps = AXES(2);
  const ivec3 origins = AXES(3);
  const ivec3 taps = AXES(4);
  const ivec3 tap_steps = AXES(5);
  const ivec3 taps_a = AXES(6);
  const ivec3 strides_b = AXES(7);
  const ivec3 strides_c = AXES(8);
  const int channels = CHANNELS;
  const int channel_a = CHANNEL_A;
  const int channel_b = CHANNEL_B;
  const int limit = LIMIT;
  const int row_c = ROW_C;
  const float low = ALPHA;
  const float high = BETA;
  const float a_scale = A_SCALE;
  const float start_scale = START_SCALE;
  const int start_row = START_ROW;
  const int start_column = START_COLUMN;
  const int bias_kind = BIAS == 3u ? BIAS_KIND : int(BIAS);
  const int start_kind = START == 3u ? START_KIND : int(START);

  ivec3 spots[COLUMNS];  // of each column and tap 0, in input elements
  for (int j = 0; j < COLUMNS; ++j) {
    spots[j] = position_of(min(first_column + j * GROUP + lane, columns - 1), counts) * steps + origins;
  }
  float sums[ROWS][COLUMNS];
  for (int i = 0; i < ROWS; ++i) {
    for (int j = 0; j < COLUMNS; ++j) sums[i][j] = 0.0;
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
      inside[j] = spot.x >= 0 && spot.x < sizes.x && spot.y >= 0 && spot.y < sizes.y &&
                  (limit != 0 || (spot.z >= 0 && spot.z < sizes.z));
      place_b[j] = at_b + (inside[j] ? along(spot, strides_b) : 0);
#ifndef VECTORS
      edge[j] = limit != 0 ? spot.z * strides_b.z : 0;
#endif
    }
    tap.z += 1;
    if (tap.z == taps.z) tap = ivec3(tap.x, tap.y + 1, 0);
    if (tap.y == taps.y) tap = ivec3(tap.x + 1, 0, 0);
#ifdef VECTORS
    for (int k = 0; k < channels; k += 4) {
      const vec4 mine = texelFetch(a, (place_a + k) >> 2);
      vec4 found[COLUMNS];
      for (int j = 0; j < COLUMNS; ++j) {
        const vec4 read = texelFetch(b, (place_b[j] + k) >> 2);
        found[j] = inside[j] ? read : vec4(0.0);
      }
      for (int i = 0; i < ROWS; ++i) {
        const vec4 other = vec4(subgroupShuffle(mine.x, i), subgroupShuffle(mine.y, i), subgroupShuffle(mine.z, i),
                                subgroupShuffle(mine.w, i));
        for (int j = 0; j < COLUMNS; ++j) {
          sums[i][j] += other.x * found[j].x + other.y * found[j].y + other.z * found[j].z + other.w * found[j].w;
        }
      }
    }
#else
    // One channel at a time: four would be four times as much to compile.
    for (int k = 0; k < channels; ++k) {
      const float mine = texelFetch(a, place_a + k * channel_a).x;
      float found[COLUMNS];
      for (int j = 0; j < COLUMNS; ++j) {
        const bool here = inside[j] && (limit == 0 || (edge[j] + k >= 0 && edge[j] + k < limit));
        const float read = texelFetch(b, here ? place_b[j] + k * channel_b : at_b).x;
        found[j] = here ? read : 0.0;
      }
      for (int i = 0; i < ROWS; ++i) {
        const float other = subgroupShuffle(mine, i);
        for (int j = 0; j < COLUMNS; ++j) sums[i][j] += other * found[j];
      }
    }
#endif
  }
  // The sums by a number, as loops over them that are not unrolled need: what is in them is compiled once.
  const int last_column = ITEMS > 0 ? COLUMNS : 0;
#ifdef VECTORS
  const int last_row = ITEMS > 0 ? ROWS / 4 : 0;
  vec4 all[COLUMNS * ROWS / 4];
  for (int j = 0; j < COLUMNS; ++j) {
    for (int i = 0; i < ROWS / 4; ++i) {
      all[j * ROWS / 4 + i] = vec4(sums[4 * i][j], sums[4 * i + 1][j], sums[4 * i + 2][j], sums[4 * i + 3][j]);
    }
  }
#else
  const int last_row = ITEMS > 0 ? ROWS : 0;
  float all[COLUMNS * ROWS];
  for (int j = 0; j < COLUMNS; ++j) {
    for (int i = 0; i < ROWS; ++i) all[j * ROWS + i] = sums[i][j] * a_scale;
  }
#endif
  for (int j = 0; j < last_column; ++j) {
    const int column = first_column + j * GROUP + lane;
    const bool here = column < columns;
    const int safe_column = min(column, columns - 1);
    const int place_c = along(position_of(safe_column, counts), strides_c);
    for (int i = 0; i < last_row; ++i) {
#ifdef VECTORS
      const int row = first_row + 4 * i;
      const int safe = min(row, rows - 4);
      const int place = place_c + safe;
      const vec4 biased = texelFetch(bias, bias_kind == 0 ? 0 : (at_bias + safe) >> 2);
      const vec4 added = texelFetch(start, start_kind == 0 ? 0 : (at_start + place) >> 2);
      vec4 sum = all[j * ROWS / 4 + i] + (bias_kind == 0 ? vec4(0.0) : biased);
      sum = start_kind == 0 ? sum : sum + added;
      for (int q = 0; q < 4; ++q) sum[q] = finished(sum[q], low, high);
      if (here && row < written_rows) imageStore(c, (at_c + place) >> 2, sum);
#else
      const int row = first_row + i;
      const int safe = min(row, rows - 1);
      const int place = place_c + safe * row_c;
      float sum = all[j * ROWS + i];
      if (BIAS != 0u) {
        sum += bias_kind == 0 ? 0.0 : texelFetch(bias, at_bias + (bias_kind == 1 ? safe : safe_column)).x;
      }
      if (START == 1u) sum += texelFetch(start, at_start + place).x;
      if (START == 2u) {
        sum += start_scale * texelFetch(start, at_own + safe * start_row + safe_column * start_column).x;
      }
      if (here && row < written_rows) imageStore(c, at_c + place, vec4(finished(sum, low, high)));
#endif
    }
  }
}
