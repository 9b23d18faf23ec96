#version 450
#extension GL_GOOGLE_include_directive : require
// Pooling over windows of planes, an element each: the largest and where it is, the mean, the mean over what each
// element of a smaller plane stands for.
//
// Buffers: the result, the input, the indices (64 bits each).
#define BUFFERS 3
#include "common.glsl"

layout(constant_id = 0) const uint KIND = 0;     // 0 largest, 1 mean, 2 adaptive mean
layout(constant_id = 1) const uint INDICES = 0;  // whether indices are wanted

WRITES(1, Result, result);
READS(2, Input, x);
layout(set = 0, binding = 3) writeonly buffer Indices { uint indices[]; };

#define CHANNELS NUMBER(0)
#define AXIS(i, what) NUMBER(1 + 6 * (i) + (what))  // in out kernel stride padding dilation
#define STRIDE(tensor, d) NUMBER(13 + 4 * (tensor) + (d))  // of input, result, indices: batch, channel, row, column
#define PADS_COUNT NUMBER(25)
#define DIVISOR NUMBER(26)

void main() {
  ITEM
  const int column = item % AXIS(1, 1);
  const int row = item / AXIS(1, 1) % AXIS(0, 1);
  const int plane = item / AXIS(1, 1) / AXIS(0, 1);
  const int channel = plane % CHANNELS;
  const int image = plane / CHANNELS;
  const int in_plane = BEGIN(1) + image * STRIDE(0, 0) + channel * STRIDE(0, 1);
  const int height = AXIS(0, 0);
  const int width = AXIS(1, 0);

  int from_y, to_y, step_y, from_x, to_x, step_x;
  float divisor = 1.0;
  if (KIND == 2u) {
    from_y = row * height / AXIS(0, 1);
    from_x = column * width / AXIS(1, 1);
    to_y = ((row + 1) * height + AXIS(0, 1) - 1) / AXIS(0, 1);
    to_x = ((column + 1) * width + AXIS(1, 1) - 1) / AXIS(1, 1);
    step_y = 1;
    step_x = 1;
    divisor = float((to_y - from_y) * (to_x - from_x));
  } else {
    step_y = AXIS(0, 5);
    step_x = AXIS(1, 5);
    from_y = row * AXIS(0, 3) - AXIS(0, 4);
    from_x = column * AXIS(1, 3) - AXIS(1, 4);
    to_y = from_y + (AXIS(0, 2) - 1) * step_y + 1;
    to_x = from_x + (AXIS(1, 2) - 1) * step_x + 1;
    // With its padding, a window ends where the padded plane does.
    const int padded = (min(to_y, height + AXIS(0, 4)) - from_y) * (min(to_x, width + AXIS(1, 4)) - from_x);
    if (from_y < 0) from_y += (-from_y + step_y - 1) / step_y * step_y;
    if (from_x < 0) from_x += (-from_x + step_x - 1) / step_x * step_x;
    to_y = min(to_y, height);
    to_x = min(to_x, width);
    divisor = float(DIVISOR != 0 ? DIVISOR : PADS_COUNT != 0 ? padded : (to_y - from_y) * (to_x - from_x));
  }

  const int row_step = STRIDE(0, 2);
  const int column_step = STRIDE(0, 3);
  const int to = BEGIN(0) + image * STRIDE(1, 0) + channel * STRIDE(1, 1) + row * STRIDE(1, 2) + column * STRIDE(1, 3);
  const int place = image * STRIDE(2, 0) + channel * STRIDE(2, 1) + row * STRIDE(2, 2) + column * STRIDE(2, 3);
  const int to_index = BEGIN(2) + 2 * place;
#ifdef ANY_TYPE
  float sum = x_type == I8 ? -128.0 : 0.0;
#else
  float sum = KIND == 0u ? -kInfinity : 0.0;
#endif
  int best = min(from_y, height - 1) * width + min(from_x, width - 1);
  for (int y = from_y; y < to_y; y += step_y) {
    for (int k = from_x; k < to_x; k += step_x) {
      const float value = AT(x, in_plane + y * row_step + k * column_step);
      if (KIND == 0u) {
        if (value > sum || isnan(value)) {
          sum = value;
          best = y * width + k;
        }
      } else {
        sum += value;
      }
    }
  }
  if (KIND != 0u) sum = from_y < to_y && from_x < to_x ? sum / divisor : 0.0;
  if (wanted) {
    PUT(result, to, sum);
  }
  if (INDICES != 0u && wanted) {
    indices[to_index] = uint(best);
    indices[to_index + 1] = 0u;
  }
}
