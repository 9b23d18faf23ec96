#version 450
#extension GL_GOOGLE_include_directive : require
// Layer and group normalisation as norm.comp, for cards and rows that are long: a group a row.
#define BUFFERS 6
#define GROUP 128
#include "common.glsl"
#include "row.glsl"

layout(constant_id = 0) const uint ROWS = 1;      // dimensions
layout(constant_id = 1) const uint ELEMENTS = 1;  // likewise
layout(constant_id = 2) const uint AFFINE = 0;    // 1: there is a weight; 2: a bias

WRITES(1, Result, result);
READS(2, Input, x);
WRITES(3, Means, means);
WRITES(4, Deviations, deviations);
READS(5, Weights, weights);
READS(6, Biases, biases);

const int kRows = 5;
const int kElements = kRows + 5 * int(ROWS);

// Of element k of a row, in input and result.
ivec2 place_of(int k) {
  ivec2 at = ivec2(0);
  for (int d = int(ELEMENTS) - 1; d >= 0; --d) {
    const int size = NUMBER(kElements + d);
    const int quotient = k / size;
    const int place = k - quotient * size;
    at += place * ivec2(NUMBER(kElements + int(ELEMENTS) + d), NUMBER(kElements + 2 * int(ELEMENTS) + d));
    k = quotient;
  }
  return at;
}

void main() {
  const int item = group_number();
  if (item >= ITEMS) return;
  int at[4] = {BEGIN(1), BEGIN(0), BEGIN(2), BEGIN(3)};
  int rest = item;
  for (int d = int(ROWS) - 1; d >= 0; --d) {
    const int size = NUMBER(kRows + d);
    const int place = rest % size;
    rest /= size;
    for (int k = 0; k < 4; ++k) at[k] += place * NUMBER(kRows + (k + 1) * int(ROWS) + d);
  }
  const int first = int(gl_LocalInvocationID.x);
  const int length = NUMBER(0);
  const int groups = NUMBER(1);
  const int first_channel = groups == 0 ? 0 : item % groups * NUMBER(2);
  const int plane = NUMBER(3);
  const float eps = REAL(4);
  const ivec2 parameters = ivec2(BEGIN(4), BEGIN(5));
  float total = 0.0;
  float lost = 0.0;
  for (int k = first; k < length; k += GROUP) add_to(total, lost, AT(x, at[0] + place_of(k).x));
  const float mean = sum_of_row(total) / float(length);
  float squares = 0.0;
  lost = 0.0;
  for (int k = first; k < length; k += GROUP) {
    const float away = AT(x, at[0] + place_of(k).x) - mean;
    add_to(squares, lost, away * away);
  }
  const float deviation = 1.0 / sqrt(sum_of_row(squares) / float(length) + eps);
  if (first == 0) {
    PUT(means, at[2], mean);
    PUT(deviations, at[3], deviation);
  }
  for (int k = first; k < length; k += GROUP) {
    const ivec2 place = place_of(k);
    const int parameter = groups == 0 ? k : first_channel + k / plane;
    float value = (AT(x, at[0] + place.x) - mean) * deviation;
    if ((AFFINE & 1u) != 0u) value *= AT(weights, parameters.x + parameter);
    if ((AFFINE & 2u) != 0u) value += AT(biases, parameters.y + parameter);
    PUT(result, at[1] + place.y, value);
  }
}
