#version 450
#extension GL_GOOGLE_include_directive : require
// berth::attention (kernels/portable/fused_attention.cc): an invocation a query and sixteen columns of a head. Scores
// are computed again rather than kept.
//
// Buffers: the result, query, key, value, mask.
#define BUFFERS 5
#include "common.glsl"

layout(constant_id = 0) const uint MASKED = 0;
layout(constant_id = 1) const uint CAUSAL = 0;

layout(set = 0, binding = 1) writeonly buffer Result { float result[]; };
READS(2, Query, q);
READS(3, Key, key);
READS(4, Value, value);
READS(5, Mask, mask);

#define QUERIES NUMBER(0)
#define KEYS NUMBER(1)
#define HEADS NUMBER(2)
#define HEAD_SIZE NUMBER(3)
#define STRIDE(tensor, d) NUMBER(4 + 3 * (tensor) + (d))  // of query, key, value, result: batch, token, first column
#define MASK_STRIDE(d) NUMBER(16 + (d))
#define SCALE REAL(20)

const int COLUMNS = 16;

float score(int at_q, int at_k, int at_mask, int k) {
  float sum = 0.0;
  const int from = at_k + k * STRIDE(1, 1);
  for (int i = 0; i < HEAD_SIZE; ++i) sum += AT(q, at_q + i) * AT(key, from + i);
  sum *= SCALE;
  if (MASKED != 0u) sum += AT(mask, at_mask + k * MASK_STRIDE(3));
  return sum;
}

void main() {
  ITEM
  const int blocks = (HEAD_SIZE + COLUMNS - 1) / COLUMNS;
  const int first = item % blocks * COLUMNS;
  const int row = item / blocks % QUERIES;
  const int head = item / blocks / QUERIES % HEADS;
  const int batch = item / blocks / QUERIES / HEADS;
  const int of_head = head * HEAD_SIZE;
  const int at_q = BEGIN(1) + batch * STRIDE(0, 0) + row * STRIDE(0, 1) + STRIDE(0, 2) + of_head;
  const int at_k = BEGIN(2) + batch * STRIDE(1, 0) + STRIDE(1, 2) + of_head;
  const int at_v = BEGIN(3) + batch * STRIDE(2, 0) + STRIDE(2, 2) + of_head + first;
  const int at_mask =
      BEGIN(4) + batch * MASK_STRIDE(0) + head * MASK_STRIDE(1) + row * MASK_STRIDE(2);
  const int seen = CAUSAL != 0u ? min(row + 1, KEYS) : KEYS;
  const int last = min(HEAD_SIZE - first, COLUMNS) - 1;

  const int stride_v = STRIDE(2, 1);
  float most = -kInfinity;
  float total = 0.0;
  float sums[COLUMNS];
  for (int j = 0; j < COLUMNS; ++j) sums[j] = 0.0;
  for (int k = 0; k < seen; ++k) {
    const float now = score(at_q, at_k, at_mask, k);
    const float next = isnan(now) || now > most ? now : most;
    // Nothing has been seen where `most` is -infinity; a row of nothing but that ends as NaN below.
    const float shrink = most == -kInfinity ? 0.0 : exp(most - next);
    const float share = next == -kInfinity ? 0.0 : exp(now - next);
    most = next;
    total = total * shrink + share;
    for (int j = 0; j < COLUMNS; ++j) {
      sums[j] = sums[j] * shrink + (share == 0.0 ? 0.0 : share * AT(value, at_v + k * stride_v + min(j, last)));
    }
  }
  const int to = BEGIN(0) + batch * STRIDE(3, 0) + row * STRIDE(3, 1) + of_head + first;
  for (int j = 0; j < COLUMNS; ++j) {
    if (wanted && j <= last) result[to + j] = sums[j] / total;
  }
}
