#version 450
#extension GL_GOOGLE_include_directive : require
// Planes made larger or smaller, by PyTorch's rules (kernels/portable/upsample_positions.h): an element each.
//
// Buffers: the result, the input.
#define BUFFERS 2
#include "common.glsl"

layout(constant_id = 0) const uint KIND = 0;  // 0 nearest, 1 bilinear, 2 bilinear with aligned corners

WRITES(1, Result, result);
READS(2, Input, x);

#define CHANNELS NUMBER(0)
#define IN(i) NUMBER(1 + (i))
#define OUT(i) NUMBER(3 + (i))
#define STEP(i) REAL(5 + (i))
#define STRIDE(tensor, d) NUMBER(7 + 4 * (tensor) + (d))  // of input, result: batch, channel, row, column

int nearest(int axis, int place) {
  if (OUT(axis) == IN(axis)) return place;
  if (OUT(axis) == 2 * IN(axis)) return place / 2;
  precise const float source = float(place) * STEP(axis);
  return source < float(IN(axis) - 1) ? int(source) : IN(axis) - 1;
}

float exact(int axis, int place) {
  precise const float found =
      KIND == 2u ? STEP(axis) * float(place) : STEP(axis) * (float(place) + 0.5) - 0.5;
  return bounded(found, 0.0, float(IN(axis) - 1));
}

void main() {
  ITEM
  const int column = item % OUT(1);
  const int row = item / OUT(1) % OUT(0);
  const int plane = item / OUT(1) / OUT(0);
  const int channel = plane % CHANNELS;
  const int image = plane / CHANNELS;
  const int from = BEGIN(1) + image * STRIDE(0, 0) + channel * STRIDE(0, 1);
  const int to = BEGIN(0) + image * STRIDE(1, 0) + channel * STRIDE(1, 1) + row * STRIDE(1, 2) + column * STRIDE(1, 3);
  if (KIND == 0u) {
    const float found = AT(x, from + nearest(0, row) * STRIDE(0, 2) + nearest(1, column) * STRIDE(0, 3));
    if (wanted) {
      PUT(result, to, found);
    }
    return;
  }
  const float y = exact(0, row);
  const float z = exact(1, column);
  const int above = min(int(y), IN(0) - 1);
  const int left = min(int(z), IN(1) - 1);
  const int below = min(above + 1, IN(0) - 1);
  const int right = min(left + 1, IN(1) - 1);
  const float down = bounded(y - float(above), 0.0, 1.0);
  const float across = bounded(z - float(left), 0.0, 1.0);
  const int upper = from + above * STRIDE(0, 2);
  const int lower = from + below * STRIDE(0, 2);
  const int near = left * STRIDE(0, 3);
  const int far = right * STRIDE(0, 3);
  const float top = (1.0 - across) * AT(x, upper + near) + across * AT(x, upper + far);
  const float bottom = (1.0 - across) * AT(x, lower + near) + across * AT(x, lower + far);
  if (wanted) {
    PUT(result, to, (1.0 - down) * top + down * bottom);
  }
}
