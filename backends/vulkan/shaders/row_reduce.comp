#version 450
#extension GL_GOOGLE_include_directive : require
// Sums, means, largest and smallest elements as reduce.comp, for cards and outputs of many elements: a group an output.
#define BUFFERS 2
#define GROUP 128
#include "common.glsl"
#include "row.glsl"

layout(constant_id = 0) const uint KIND = 0;  // 0 sum, 1 largest, 2 smallest
layout(constant_id = 1) const uint OUTER = 1;
layout(constant_id = 2) const uint INNER = 1;

WRITES(1, Result, result);
READS(2, Input, x);

void main() {
  const int item = group_number();
  if (item >= ITEMS) return;
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
  const int first = int(gl_LocalInvocationID.x);
  const int sizes = 2 + 3 * int(OUTER);
  const int length = NUMBER(0);
  const float factor = REAL(1);
  float state = KIND == 0u ? 0.0 : KIND == 1u ? -kInfinity : kInfinity;
  float lost = 0.0;
  for (int k = first; k < length; k += GROUP) {
    int at = from;
    int inside = k;
    for (int d = int(INNER) - 1; d >= 0; --d) {
      const int size = NUMBER(sizes + d);
      at += inside % size * NUMBER(sizes + int(INNER) + d);
      inside /= size;
    }
    const float value = AT(x, at);
    if (KIND == 0u) {
      add_to(state, lost, value);
    } else {
      state = KIND == 1u ? larger_of(state, value) : smaller_of(state, value);
    }
  }
  const float whole = KIND == 0u ? sum_of_row(state) * factor : extreme_of_row(state, KIND == 1u);
  if (first == 0) {
    PUT(result, to, whole);
  }
}
