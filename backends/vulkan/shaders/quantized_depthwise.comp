#version 450
#extension GL_GOOGLE_include_directive : require
// A convolution of 8-bit integers, each channel by itself, channels innermost, for devices that are processors: an
// invocation computes four positions of four channels, which are rows here. Sums are of f32, which is exact for 256
// products of bytes; quantized_products.cc has checked that there are no more.
//
// Texels of words, as in quantized_tile.comp.
#define BUFFERS 9
#define TEXELS
#include "common.glsl"
#include "product_numbers.glsl"
const int ROWS = 4;
#include "quantized.glsl"

const int COLUMNS = 4;

void main() {
  const int item = max(min(item_number(), ITEMS - 1), 0);
  const int rows = N_ROWS;
  const int columns = N_COLUMNS;
  const int units = max(rows / ROWS, 1);
  const int column_tiles = (columns + COLUMNS - 1) / COLUMNS;
  const int rest = item / units;
  const int row = (item - rest * units) * ROWS;
  const int image = rest / column_tiles;
  const int first_column = (rest - image * column_tiles) * COLUMNS;
  const int at_a = BEGIN(1) + FIRST_A + row;
  const int at_b = BEGIN(2) + FIRST_B + image * BATCH(0, 1) + row;
  const ivec3 counts = AXES(0);
  const ivec3 sizes = AXES(1);
  const ivec3 taps = AXES(4);
  const ivec3 tap_steps = AXES(5);
  const ivec3 taps_a = AXES(6);
  const ivec3 strides_b = AXES(7);
  const uint signs_a = signs(a_type);
  const uint signs_b = signs(b_type);
  vec4 zero_a;
  for (int i = 0; i < ROWS; ++i) zero_a[i] = float(moved(a_type, weight_zero_of(row + i)));
  const float zero_b = float(moved(b_type, input_zero_of(0)));
  ivec3 spots[COLUMNS];
  vec4 sums[COLUMNS];
  for (int j = 0; j < COLUMNS; ++j) {
    spots[j] = position_of(min(first_column + j, columns - 1), counts) * AXES(2) + AXES(3);
    sums[j] = vec4(0.0);
  }
  const int all_taps = taps.x * taps.y * taps.z;
  ivec3 tap = ivec3(0);
  for (int t = 0; t < all_taps; ++t) {
    const vec4 factor = numbers_of(WORD_AT(a, at_a + along(tap, taps_a) >> 2) ^ signs_a) - zero_a;
    for (int j = 0; j < COLUMNS; ++j) {
      const ivec3 spot = spots[j] + tap * tap_steps;
      const bool inside = all(greaterThanEqual(spot, ivec3(0))) && all(lessThan(spot, sizes));
      const int place = at_b + (inside ? along(spot, strides_b) : 0);
      const vec4 found = numbers_of(WORD_AT(b, place >> 2) ^ signs_b) - zero_b;
      sums[j] += factor * (inside ? found : vec4(0.0));
    }
    tap.z += 1;
    if (tap.z == taps.z) tap = ivec3(tap.x, tap.y + 1, 0);
    if (tap.y == taps.y) tap = ivec3(tap.x + 1, 0, 0);
  }
  for (int j = 0; j < COLUMNS; ++j) {
    for (int i = 0; i < ROWS; ++i) ends[ROWS * j + i] = int(sums[j][i]);
  }
  const int at_c = BEGIN(0) + FIRST_C + image * BATCH(0, 2);
  const int at_residual = image * RESIDUAL_BATCH(0);
  put_all(Places(row, first_column, 1, 0, at_c, at_residual), item_number() < ITEMS ? rows : 0);
}
