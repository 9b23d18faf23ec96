#version 450
#extension GL_GOOGLE_include_directive : require
// The lower triangles of matrices, up to a diagonal; zeros elsewhere. An element each.
//
// Numbers: the diagonal; how many dimensions there are; their sizes, and strides of result and input.
#define ANY_TYPE
#define BUFFERS 2
#include "common.glsl"

WRITES(1, Result, result);
READS(2, Input, x);

void main() {
  ITEM
  const int rank = NUMBER(1);
  int to = BEGIN(0);
  int from = BEGIN(1);
  int rest = item;
  int row = 0;
  int column = 0;
  for (int d = rank - 1; d >= 0; --d) {
    const int size = NUMBER(2 + d);
    const int quotient = rest / size;
    const int place = rest - quotient * size;
    rest = quotient;
    to += place * NUMBER(2 + rank + d);
    from += place * NUMBER(2 + 2 * rank + d);
    if (d == rank - 1) column = place;
    if (d == rank - 2) row = place;
  }
  const uvec2 found = BITS(x, from);
  const uvec2 bits = column - row <= NUMBER(0) ? found : uvec2(0u);
  PUT_BITS(result, to, bits)
}
