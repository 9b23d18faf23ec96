#version 450
#extension GL_GOOGLE_include_directive : require
// Elements of a tensor by indices of i32 or i64 along one of its dimensions, an element each. What is outside of that
// is said in `faults` (faults.h), by the first invocation that finds one, and element 0 is taken.
//
// Numbers: the size of the dimension and its stride; how many dimensions the result has; their sizes; strides of
// result, index and input along its dimensions (0 where a tensor does not have one); whether negative indices count
// from the end; the operator.
#define ANY_TYPE
#define BUFFERS 4
#include "common.glsl"

WRITES(1, Result, result);
READS(2, Input, x);
READS(3, Indices, indices);
layout(set = 0, binding = 4) buffer Faults { uint faults[]; };

void main() {
  ITEM
  const int rank = NUMBER(2);
  int to = BEGIN(0);
  int from = BEGIN(1);
  int at = BEGIN(2);
  int rest = item;
  for (int d = rank - 1; d >= 0; --d) {
    const int size = NUMBER(3 + d);
    const int quotient = rest / size;
    const int place = rest - quotient * size;
    rest = quotient;
    to += place * NUMBER(3 + rank + d);
    at += place * NUMBER(3 + 2 * rank + d);
    from += place * NUMBER(3 + 3 * rank + d);
  }
  const uvec2 given = whole_of(indices_type, BITS(indices, at));
  uvec2 index = given;
  if (NUMBER(3 + 4 * rank) != 0 && index.y == 0xffffffffu) {
    const uint low = index.x + uint(NUMBER(0));
    index = uvec2(low, low < index.x ? 0u : 0xffffffffu);
  }
  const bool inside = index.y == 0u && index.x < uint(NUMBER(0));
  const int fault = BEGIN(3);
  if (!inside && atomicCompSwap(faults[fault], 0u, uint(NUMBER(4 + 4 * rank))) == 0u) {
    faults[fault + 1] = given.x;
    faults[fault + 2] = given.y;
    faults[fault + 3] = uint(NUMBER(0));
  }
  const int slab = inside ? int(index.x) : 0;
  const uvec2 bits = BITS(x, from + slab * NUMBER(1));
  PUT_BITS(result, to, bits)
}
