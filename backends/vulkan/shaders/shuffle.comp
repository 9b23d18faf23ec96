#version 450
#extension GL_GOOGLE_include_directive : require
// berth::shuffle (kernels/portable/fused_shuffle.cc): what of one part goes to one result, an element of the result
// each.
//
// Buffers: the result, the part.
#define BUFFERS 2
#include "common.glsl"

layout(set = 0, binding = 1) writeonly buffer Result { float result[]; };
READS(2, Part, x);

#define SIZE(d) NUMBER(d)
#define STRIDE(tensor, d) NUMBER(4 + 4 * (tensor) + (d))  // of result, part
#define BEFORE NUMBER(12)       // channels of the results before this one
#define GROUPS NUMBER(13)
#define GROUP_SIZE NUMBER(14)
#define FIRST NUMBER(15)        // channels of the parts before this one
#define CHANNELS NUMBER(16)     // of the part

void main() {
  ITEM
  const int column = item % SIZE(3);
  const int row = item / SIZE(3) % SIZE(2);
  const int channel = item / SIZE(3) / SIZE(2) % SIZE(1);
  const int image = item / SIZE(3) / SIZE(2) / SIZE(1);
  const int shuffled = BEFORE + channel;
  const int from = shuffled % GROUPS * GROUP_SIZE + shuffled / GROUPS - FIRST;
  const int to = BEGIN(0) + image * STRIDE(0, 0) + channel * STRIDE(0, 1) + row * STRIDE(0, 2) + column * STRIDE(0, 3);
  const bool here = from >= 0 && from < CHANNELS;
  const int there = BEGIN(1) + image * STRIDE(1, 0) + from * STRIDE(1, 1) + row * STRIDE(1, 2) + column * STRIDE(1, 3);
  if (wanted && here) result[to] = AT(x, there);
}
