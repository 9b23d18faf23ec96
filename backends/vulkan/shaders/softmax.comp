#version 450
#extension GL_GOOGLE_include_directive : require
// Softmax and its logarithm: an invocation a row.
//
// Buffers: the result, the input. Numbers: the elements of a row, the steps of result and input along it; the sizes of
// the rows, strides of result and input along them.
#define BUFFERS 2
#include "common.glsl"

layout(constant_id = 0) const uint LOGARITHM = 0;
layout(constant_id = 1) const uint RANK = 1;

WRITES(1, Result, result);
READS(2, Input, x);

void main() {
  ITEM
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
  const int length = NUMBER(0);
  const int step_to = NUMBER(1);
  const int step_from = NUMBER(2);
  float most = -kInfinity;
  for (int k = 0; k < length; ++k) {
    const float value = AT(x, from + k * step_from);
    most = isnan(value) || value > most ? value : most;
  }
  float total = 0.0;
  for (int k = 0; k < length; ++k) total += exp(AT(x, from + k * step_from) - most);
  const float logarithm = log(total);
  for (int k = 0; k < length; ++k) {
    const float value = AT(x, from + k * step_from) - most;
    if (wanted) {
      PUT(result, to + k * step_to, LOGARITHM != 0u ? value - logarithm : exp(value) / total);
    }
  }
}
