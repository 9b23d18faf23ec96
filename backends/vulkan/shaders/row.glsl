// For kernels of which a group computes a row: what its invocations have, put together through shared memory. All of
// them call these. REQUIRES: common.glsl, with a GROUP that is a power of two.
shared float row_parts[GROUP];

float sum_of_row(float part) {
  const int id = int(gl_LocalInvocationID.x);
  barrier();  // what was put together before has been read
  row_parts[id] = part;
  for (int others = GROUP / 2; others > 0; others /= 2) {
    barrier();
    if (id < others) row_parts[id] += row_parts[id + others];
  }
  barrier();
  return row_parts[0];
}

// The larger one, or the smaller one; NaN where one is.
float larger_of(float a, float b) { return isnan(b) || b > a ? b : a; }
float smaller_of(float a, float b) { return isnan(b) || b < a ? b : a; }

float extreme_of_row(float part, bool largest) {
  const int id = int(gl_LocalInvocationID.x);
  barrier();
  row_parts[id] = part;
  for (int others = GROUP / 2; others > 0; others /= 2) {
    barrier();
    if (id < others) {
      const float a = row_parts[id];
      const float b = row_parts[id + others];
      row_parts[id] = largest ? larger_of(a, b) : smaller_of(a, b);
    }
  }
  barrier();
  return row_parts[0];
}

// Adds, and keeps what rounding takes for the next one (Kahan). Behind an infinity or a NaN that would be NaN.
void add_to(inout float total, inout float lost, float value) {
  precise const float next = value - lost;
  precise const float sum = total + next;
  precise const float kept = sum - total;
  lost = isinf(sum) || isnan(sum) ? 0.0 : kept - next;
  total = sum;
}
