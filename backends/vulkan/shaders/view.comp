#version 450
#extension GL_GOOGLE_include_directive : require
// The same elements, in the row-major order of their sizes, as a tensor of other sizes: an element each.
//
// Buffers: the result, the input. Numbers: size and stride of each dimension, of the result and of the input.
#define BUFFERS 2
#include "common.glsl"

layout(constant_id = 0) const uint RANK_TO = 1;
layout(constant_id = 1) const uint RANK_FROM = 1;

WRITES(1, Result, result);
READS(2, Input, x);

int place_of(int item, int first, int rank) {
  int at = 0;
  for (int d = rank - 1; d >= 0; --d) {
    const int size = NUMBER(first + 2 * d);
    const int quotient = item / size;
    at += (item - quotient * size) * NUMBER(first + 2 * d + 1);
    item = quotient;
  }
  return at;
}

void main() {
  ITEM
  const int to = place_of(item, 0, int(RANK_TO));
  const int from = place_of(item, 2 * int(RANK_TO), int(RANK_FROM));
  if (wanted) {
    COPY(result, BEGIN(0) + to, x, BEGIN(1) + from);
  }
}
