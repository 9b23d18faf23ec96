#version 450
#extension GL_GOOGLE_include_directive : require
// berth::lstm (kernels/portable/fused_lstm.cc): a workgroup a row of the batch, for all steps; an invocation some
// units.
//
// Buffers: the hidden states, the last cell, gates, the first hidden state, the first cell, the weight.
#define BUFFERS 6
#include "common.glsl"

layout(set = 0, binding = 1) coherent buffer Hidden { float hidden[]; };
layout(set = 0, binding = 2) coherent buffer Cell { float cell[]; };
layout(set = 0, binding = 3) readonly buffer Gates { float gates[]; };
layout(set = 0, binding = 4) readonly buffer FirstHidden { float first_hidden[]; };
layout(set = 0, binding = 5) readonly buffer FirstCell { float first_cell[]; };
layout(set = 0, binding = 6) readonly buffer Weight { float weight[]; };

#define N_STEPS NUMBER(0)
#define N_ROWS NUMBER(1)
#define SIZE NUMBER(2)
#define WIDTH NUMBER(3)
#define REVERSE NUMBER(4)

void main() {
  const int row = group_number();
  // The same for all of a workgroup, which meets at barriers below.
  if (row >= ITEMS) return;
  const int size = SIZE;
  for (int t = 0; t < N_STEPS; ++t) {
    const int at = REVERSE != 0 ? N_STEPS - 1 - t : t;
    const int before = (REVERSE != 0 ? at + 1 : at - 1) * N_ROWS + row;
    for (int unit = int(gl_LocalInvocationID.x); unit < size; unit += int(gl_WorkGroupSize.x)) {
      const int column = BEGIN(5) + unit / WIDTH * size * 4 * WIDTH + unit % WIDTH;
      const int own = BEGIN(2) + (at * N_ROWS + row) * 4 * size + unit;
      vec4 sums = vec4(gates[own], gates[own + size], gates[own + 2 * size], gates[own + 3 * size]);
      for (int k = 0; k < size; ++k) {
        const float h = t == 0 ? first_hidden[BEGIN(3) + row * size + k] : hidden[BEGIN(0) + before * size + k];
        const int from = column + k * 4 * WIDTH;
        sums += h * vec4(weight[from], weight[from + WIDTH], weight[from + 2 * WIDTH], weight[from + 3 * WIDTH]);
      }
      const int place = BEGIN(1) + row * size + unit;
      const float kept = t == 0 ? first_cell[BEGIN(4) + row * size + unit] : cell[place];
      const float next = sigmoid_of(sums.y) * kept + sigmoid_of(sums.x) * tanh_of(sums.z);
      cell[place] = next;
      hidden[BEGIN(0) + (at * N_ROWS + row) * size + unit] = sigmoid_of(sums.w) * tanh_of(next);
    }
    memoryBarrierBuffer();
    barrier();
  }
}
