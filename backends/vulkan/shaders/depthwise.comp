#version 450
#extension GL_GOOGLE_include_directive : require
// A convolution of each channel by itself, channels innermost, for devices that are processors: an invocation computes
// four positions of one texel of channels (VECTORS: four of them), as a Product of one row whose batches are the
// channels; tiles.cc has checked that their strides are 1.
//
// Texels: C, A, B, the bias, what is added (`start`).
#define BUFFERS 5
#include "common.glsl"
#include "product_numbers.glsl"

layout(constant_id = 0) const uint ACTIVATION = 2;  // as in activated(); 2 does for none and relu too

#ifdef VECTORS
layout(set = 0, binding = 1, rgba32f) uniform writeonly imageBuffer c;
#define V vec4
#define GET(from, i) texelFetch(from, (i) >> 2)
#define STORE(i, value) imageStore(c, (i) >> 2, value)
const int UNIT = 4;
#else
layout(set = 0, binding = 1, r32f) uniform writeonly imageBuffer c;
#define V float
#define GET(from, i) texelFetch(from, i).x
#define STORE(i, value) imageStore(c, i, vec4(value))
const int UNIT = 1;
#endif
layout(set = 0, binding = 2) uniform samplerBuffer a;
layout(set = 0, binding = 3) uniform samplerBuffer b;
layout(set = 0, binding = 4) uniform samplerBuffer bias;
layout(set = 0, binding = 5) uniform samplerBuffer start;

const int COLUMNS = 4;

float finished(float x, float low, float high) {
  return ACTIVATION == 2u ? bounded(x, low, high) : activated(ACTIVATION, x, low, high);
}
vec4 finished(vec4 x, float low, float high) {
  for (int q = 0; q < 4; ++q) x[q] = finished(x[q], low, high);
  return x;
}

void main() {
  const bool wanted = item_number() < ITEMS;
  const int item = max(min(item_number(), ITEMS - 1), 0);
  const int columns = N_COLUMNS;
  const int units = INNER_BATCH / UNIT;
  const int column_tiles = (columns + COLUMNS - 1) / COLUMNS;
  const int rest = item / units;
  const int channel = (item - rest * units) * UNIT;
  const int image = rest / column_tiles;
  const int first_column = (rest - image * column_tiles) * COLUMNS;
  const int at_a = BEGIN(1) + FIRST_A + channel;
  const int at_b = BEGIN(2) + FIRST_B + image * BATCH(0, 1) + channel;
  const int place = FIRST_C + image * BATCH(0, 2) + channel;
  const int at_c = BEGIN(0) + place;
  const int at_start = BEGIN(4) + place;
  const int bias_kind = BIAS_KIND;
  const int at_bias = bias_kind == 0 ? 0 : BEGIN(3) + channel;
  const int start_kind = START_KIND;
  const float low = ALPHA;
  const float high = BETA;
  const ivec3 counts = AXES(0);
  const ivec3 sizes = AXES(1);
  const ivec3 steps = AXES(2);
  const ivec3 origins = AXES(3);
  const ivec3 taps = AXES(4);
  const ivec3 tap_steps = AXES(5);
  const ivec3 taps_a = AXES(6);
  const ivec3 strides_b = AXES(7);
  const ivec3 strides_c = AXES(8);
  ivec3 spots[COLUMNS];
  V sums[COLUMNS];
  const V first = GET(bias, at_bias);
  for (int j = 0; j < COLUMNS; ++j) {
    spots[j] = position_of(min(first_column + j, columns - 1), counts) * steps + origins;
    sums[j] = bias_kind == 0 ? V(0.0) : first;
  }
  const int all_taps = taps.x * taps.y * taps.z;
  ivec3 tap = ivec3(0);
  for (int t = 0; t < all_taps; ++t) {
    const V factor = GET(a, at_a + along(tap, taps_a));
    for (int j = 0; j < COLUMNS; ++j) {
      const ivec3 spot = spots[j] + tap * tap_steps;
      const bool inside = all(greaterThanEqual(spot, ivec3(0))) && all(lessThan(spot, sizes));
      const V found = GET(b, at_b + (inside ? along(spot, strides_b) : 0));
      sums[j] += factor * (inside ? found : V(0.0));
    }
    tap.z += 1;
    if (tap.z == taps.z) tap = ivec3(tap.x, tap.y + 1, 0);
    if (tap.y == taps.y) tap = ivec3(tap.x + 1, 0, 0);
  }
  // Not unrolled, as its length is a number, so that what is in it is compiled once.
  const int last = ITEMS > 0 ? COLUMNS : 0;
  V ends[COLUMNS];
  for (int j = 0; j < COLUMNS; ++j) ends[j] = sums[j];
  for (int j = 0; j < last; ++j) {
    const int column = first_column + j;
    const int to = along(position_of(min(column, columns - 1), counts), strides_c);
    const V added = GET(start, start_kind == 0 ? 0 : at_start + to);
    const V sum = finished(start_kind == 0 ? ends[j] : ends[j] + added, low, high);
    if (wanted && column < columns) STORE(at_c + to, sum);
  }
}
