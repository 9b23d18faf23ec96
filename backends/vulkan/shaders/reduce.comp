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

layout(set = 0, binding = 1) writeonly buffer Result { float result[]; };
layout(set = 0, binding = 2) readonly buffer Input { float x[]; };

void main() {
  const int item = item_number();
  if (item >= numbers[0]) return;
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
  float state = KIND == 0u ? 0.0 : KIND == 1u ? -kInfinity : kInfinity;
  float lost = 0.0;  // what rounding has taken from the sum (Kahan)
  for (int k = 0; k < length; ++k) {
    int at = from;
    int inside = k;
    for (int d = int(INNER) - 1; d >= 0; --d) {
      const int size = NUMBER(sizes + d);
      at += inside % size * NUMBER(sizes + int(INNER) + d);
      inside /= size;
    }
    const float value = x[at];
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
  result[to] = KIND == 0u ? state * REAL(1) : state;
}
