#version 450
#extension GL_GOOGLE_include_directive : require
// Layer and group normalisation: an invocation a row.
//
// Buffers: the result, the input, mean and reciprocal deviation of each row, weight, bias. Numbers: the elements of a
// row; groups (0: weight and bias are one an element of the row), channels of a group, elements of a channel; eps; the
// sizes of the rows, strides of input, result, mean and deviation along them; the sizes of a row, strides of input and
// result.
#define BUFFERS 6
#include "common.glsl"

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

// Sizes of a row, and strides along it.
int size_of[MOST_DIMS];
ivec2 stride_of[MOST_DIMS];

ivec2 place_of(int k) {
  ivec2 at = ivec2(0);
  for (int d = int(ELEMENTS) - 1; d >= 0; --d) {
    const int quotient = k / size_of[d];
    at += (k - quotient * size_of[d]) * stride_of[d];
    k = quotient;
  }
  return at;
}

void main() {
  ITEM
  int at[4] = {BEGIN(1), BEGIN(0), BEGIN(2), BEGIN(3)};
  int rest = item;
  for (int d = int(ROWS) - 1; d >= 0; --d) {
    const int size = NUMBER(kRows + d);
    const int place = rest % size;
    rest /= size;
    for (int k = 0; k < 4; ++k) at[k] += place * NUMBER(kRows + (k + 1) * int(ROWS) + d);
  }
  const int length = NUMBER(0);
  const int groups = NUMBER(1);
  const int first_channel = groups == 0 ? 0 : item % groups * NUMBER(2);
  const int plane = NUMBER(3);
  const float eps = REAL(4);
  const ivec2 parameters = ivec2(BEGIN(4), BEGIN(5));
  for (int d = 0; d < int(ELEMENTS); ++d) {
    size_of[d] = NUMBER(kElements + d);
    stride_of[d] = ivec2(NUMBER(kElements + int(ELEMENTS) + d), NUMBER(kElements + 2 * int(ELEMENTS) + d));
  }
  // The sums lose what rounding takes only once (Kahan), as rows may be long.
  float total = 0.0;
  float lost = 0.0;
  for (int k = 0; k < length; ++k) {
    precise const float next = AT(x, at[0] + place_of(k).x) - lost;
    precise const float sum = total + next;
    lost = isinf(sum) || isnan(sum) ? 0.0 : (sum - total) - next;
    total = sum;
  }
  const float mean = total / float(length);
  float squares = 0.0;
  lost = 0.0;
  for (int k = 0; k < length; ++k) {
    const float away = AT(x, at[0] + place_of(k).x) - mean;
    precise const float next = away * away - lost;
    precise const float sum = squares + next;
    lost = isinf(sum) || isnan(sum) ? 0.0 : (sum - squares) - next;
    squares = sum;
  }
  const float deviation = 1.0 / sqrt(squares / float(length) + eps);
  if (wanted) {
    PUT(means, at[2], mean);
    PUT(deviations, at[3], deviation);
  }
  for (int k = 0; k < length; ++k) {
    const ivec2 place = place_of(k);
    const int parameter = groups == 0 ? k : first_channel + k / plane;
    float value = (AT(x, at[0] + place.x) - mean) * deviation;
    if ((AFFINE & 1u) != 0u) value *= AT(weights, parameters.x + parameter);
    if ((AFFINE & 2u) != 0u) value += AT(biases, parameters.y + parameter);
    if (wanted) {
      PUT(result, at[1] + place.y, value);
    }
  }
}
