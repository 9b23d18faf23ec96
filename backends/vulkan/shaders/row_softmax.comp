#version 450
#extension GL_GOOGLE_include_directive : require
// Softmax and its logarithm as softmax.comp, for cards and rows that are long: a group a row.
#define BUFFERS 2
#define GROUP 128
#include "common.glsl"
#include "row.glsl"

layout(constant_id = 0) const uint LOGARITHM = 0;
layout(constant_id = 1) const uint RANK = 1;

WRITES(1, Result, result);
READS(2, Input, x);

void main() {
  const int item = group_number();
  if (item >= ITEMS) return;
  int to = BEGIN(0);
  int from = BEGIN(1);
  int rest = item;
  for (int d = int(RANK) - 1; d >= 0; --d) {
    const int size = NUMBER(3 + d);
    const int place = rest % size;
    rest /= size;
    to += place * NUMBER(3 + int(RANK) + d);
    from += place * NUMBER(3 + 2 * int(RANK) + d);
  }
  const int first = int(gl_LocalInvocationID.x);
  const int length = NUMBER(0);
  const int step_to = NUMBER(1);
  const int step_from = NUMBER(2);
  float most = -kInfinity;
  for (int k = first; k < length; k += GROUP) most = larger_of(most, AT(x, from + k * step_from));
  most = extreme_of_row(most, true);
  float total = 0.0;
  for (int k = first; k < length; k += GROUP) total += exp(AT(x, from + k * step_from) - most);
  total = sum_of_row(total);
  const float logarithm = log(total);
  for (int k = first; k < length; k += GROUP) {
    const float value = AT(x, from + k * step_from) - most;
    PUT(result, to + k * step_to, LOGARITHM != 0u ? value - logarithm : exp(value) / total);
  }
}
