#version 450
#extension GL_GOOGLE_include_directive : require
// Sums, means, largest and smallest elements: an invocation an output.
//
// Buffers: the result, the input. Numbers: the elements of an output; the factor; the sizes of the outputs, strides of
// result and input along them; the sizes of what is reduced, and its strides.
#define BUFFERS 2
#include "common.glsl"

layout(constant_id = 0) const uint KIND = 0;  // 0 sum, 1 largest, 2 smallest
layout(constant_id = 1) const uint OUTER = 1;
layout(constant_id = 2) const uint INNER = 1;

WRITES(1, Result, result);
READS(2, Input, x);

void main() {
  ITEM
  int to = BEGIN(0);
  int from = BEGIN(1);
  int rest = item;
  for (int d = int(OUTER) - 1; d >= 0; --d) {
    const int size = NUMBER(2 + d);
    const int place = rest % size;
    rest /= size;
    to += place * NUMBER(2 + int(OUTER) + d);
    from += place * NUMBER(2 + 2 * int(OUTER) + d);
  }
  const int sizes = 2 + 3 * int(OUTER);
  const int length = NUMBER(0);
  const float factor = REAL(1);
  int inner_size[MOST_DIMS];
  int inner_stride[MOST_DIMS];
  for (int d = 0; d < int(INNER); ++d) {
    inner_size[d] = NUMBER(sizes + d);
    inner_stride[d] = NUMBER(sizes + int(INNER) + d);
  }
  float state = KIND == 0u ? 0.0 : KIND == 1u ? -kInfinity : kInfinity;
  float lost = 0.0;  // what rounding has taken from the sum (Kahan)
  for (int k = 0; k < length; ++k) {
    int at = from;
    int inside = k;
    for (int d = int(INNER) - 1; d >= 0; --d) {
      at += inside % inner_size[d] * inner_stride[d];
      inside /= inner_size[d];
    }
    const float value = AT(x, at);
    if (KIND == 0u) {
      precise const float next = value - lost;
      precise const float sum = state + next;
      precise const float kept = sum - state;
      // Behind an infinity or a NaN the difference would be NaN.
      lost = isinf(sum) || isnan(sum) ? 0.0 : kept - next;
      state = sum;
    } else if (!isnan(state) && (isnan(value) || (KIND == 1u ? value > state : value < state))) {
      state = value;
    }
  }
  if (wanted) {
    PUT(result, to, KIND == 0u ? state * factor : state);
  }
}
