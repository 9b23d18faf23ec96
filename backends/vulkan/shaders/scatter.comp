#version 450
#extension GL_GOOGLE_include_directive : require
// Elements put, or added, at places of one dimension that indices of i32 or i64 name. An invocation has a line of
// indices along that dimension, one after the other: no other writes where it does, and the last of equal ones stays.
// What is outside of the dimension is said in `faults` (faults.h), and not written.
//
// Numbers: whether to add; whether to do so in real numbers; the size of the dimension; how many indices a line has;
// their stride, and those of result and source along it; how many other dimensions there are; their sizes, and strides
// of result, indices and source; the operator; whether there is a source, and else the element.
#define ANY_TYPE
#define BUFFERS 4
#include "common.glsl"
#include "wholes.glsl"

WRITES_AND_READS(1, Result, result);
READS(2, Indices, indices);
READS(3, Source, source);
layout(set = 0, binding = 4) buffer Faults { uint faults[]; };

void main() {
  ITEM
  const bool adds = NUMBER(0) != 0;
  const bool real = NUMBER(1) != 0;
  const int size = NUMBER(2);
  const int length = NUMBER(3);
  const int rank = NUMBER(7);
  int to = BEGIN(0);
  int at = BEGIN(1);
  int from = BEGIN(2);
  int rest = item;
  for (int d = rank - 1; d >= 0; --d) {
    const int each = NUMBER(8 + d);
    const int quotient = rest / each;
    const int place = rest - quotient * each;
    rest = quotient;
    to += place * NUMBER(8 + rank + d);
    at += place * NUMBER(8 + 2 * rank + d);
    from += place * NUMBER(8 + 3 * rank + d);
  }
  const int own = 8 + 4 * rank;
  const bool has_source = NUMBER(own + 1) != 0;
  const uvec2 element = uvec2(uint(NUMBER(own + 2)), uint(NUMBER(own + 3)));
  const int fault = BEGIN(3);
  for (int k = 0; k < length; ++k) {
    const uvec2 index = whole_of(indices_type, BITS(indices, at + k * NUMBER(4)));
    const bool inside = index.y == 0u && index.x < uint(size);
    if (!inside) {
      if (atomicCompSwap(faults[fault], 0u, uint(NUMBER(own))) == 0u) {
        faults[fault + 1] = index.x;
        faults[fault + 2] = index.y;
        faults[fault + 3] = uint(size);
      }
      continue;
    }
    const int place = to + int(index.x) * NUMBER(5);
    uvec2 bits = element;
    if (has_source) bits = BITS(source, from + k * NUMBER(6));
    if (adds) {
      const uvec2 before = BITS(result, place);
      if (real) {
        bits = bits_of_real(result_type, real_of(result_type, before) + real_of(result_type, bits));
      } else {
        bits = bits_of_whole(result_type, sum_of(whole_of(result_type, before), whole_of(result_type, bits)));
      }
    }
    PUT_BITS(result, place, bits)
  }
}
