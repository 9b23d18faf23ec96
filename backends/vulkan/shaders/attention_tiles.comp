#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
// berth::attention for devices that are processors with vectors of eight lanes: a group computes 32 columns of eight
// queries of a head. A lane has a query, and reads one of eight keys for all lanes, which get it by shuffles. Scores
// are computed again for each 32 columns.
//
// Texels: the result, query, key, value; the mask.
#define BUFFERS 5
#define GROUP 8
#include "common.glsl"

layout(constant_id = 0) const uint MASKED = 0;
layout(constant_id = 1) const uint CAUSAL = 0;

layout(set = 0, binding = 1, rgba32f) uniform writeonly imageBuffer result;
layout(set = 0, binding = 2) uniform samplerBuffer query;
layout(set = 0, binding = 3) uniform samplerBuffer key;
layout(set = 0, binding = 4) uniform samplerBuffer value;
layout(set = 0, binding = 5) uniform samplerBuffer mask;

// As in attention.comp.
#define QUERIES NUMBER(0)
#define KEYS NUMBER(1)
#define HEADS NUMBER(2)
#define HEAD_SIZE NUMBER(3)
#define STRIDE(tensor, d) NUMBER(4 + 3 * (tensor) + (d))
#define MASK_STRIDE(d) NUMBER(16 + (d))
#define SCALE REAL(20)

const int TEXELS_WIDE = 8;  // of the result

vec4 of_lane(vec4 x, int lane) {
  return vec4(subgroupShuffle(x.x, lane), subgroupShuffle(x.y, lane), subgroupShuffle(x.z, lane),
              subgroupShuffle(x.w, lane));
}

void main() {
  const int item = group_number();
  const int lane = int(gl_SubgroupInvocationID);
  const int queries = QUERIES;
  const int keys = KEYS;
  const int head_size = HEAD_SIZE;
  const int blocks = (head_size + 4 * TEXELS_WIDE - 1) / (4 * TEXELS_WIDE);
  const int tiles = (queries + GROUP - 1) / GROUP;
  const int block = item % blocks;
  const int tile = item / blocks % tiles;
  const int head = item / blocks / tiles % HEADS;
  const int batch = item / blocks / tiles / HEADS;
  const bool wanted = item < ITEMS && tile * GROUP + lane < queries;
  const int row = min(tile * GROUP + lane, queries - 1);
  const int of_head = head * head_size;
  const int first = block * 4 * TEXELS_WIDE;
  const int at_q = BEGIN(1) + batch * STRIDE(0, 0) + row * STRIDE(0, 1) + STRIDE(0, 2) + of_head;
  const int at_k = BEGIN(2) + batch * STRIDE(1, 0) + STRIDE(1, 2) + of_head;
  const int at_v = BEGIN(3) + batch * STRIDE(2, 0) + STRIDE(2, 2) + of_head + first;
  const int at_mask = BEGIN(4) + batch * MASK_STRIDE(0) + head * MASK_STRIDE(1) + row * MASK_STRIDE(2);
  const int to = BEGIN(0) + batch * STRIDE(3, 0) + row * STRIDE(3, 1) + of_head + first;
  const int stride_k = STRIDE(1, 1);
  const int stride_v = STRIDE(2, 1);
  const int stride_mask = MASK_STRIDE(3);
  const float scale = SCALE;
  const int seen = CAUSAL != 0u ? min(row + 1, keys) : keys;
  const int last = head_size - first - 4;  // where the last texel is

  float most = -kInfinity;
  float total = 0.0;
  vec4 sums[TEXELS_WIDE];
  for (int c = 0; c < TEXELS_WIDE; ++c) sums[c] = vec4(0.0);
  for (int k = 0; k < keys; k += GROUP) {
    const int own = min(k + lane, keys - 1);
    const int from_k = at_k + own * stride_k;
    const int from_v = at_v + own * stride_v;
    float scores[GROUP];
    for (int j = 0; j < GROUP; ++j) scores[j] = 0.0;
    for (int i = 0; i < head_size; i += 4) {
      const vec4 mine = texelFetch(query, (at_q + i) >> 2);
      const vec4 theirs = texelFetch(key, (from_k + i) >> 2);
      for (int j = 0; j < GROUP; ++j) {
        const vec4 other = of_lane(theirs, j);
        scores[j] += mine.x * other.x + mine.y * other.y + mine.z * other.z + mine.w * other.w;
      }
    }
    float next = most;
    for (int j = 0; j < GROUP; ++j) {
      scores[j] *= scale;
      if (MASKED != 0u) scores[j] += texelFetch(mask, at_mask + min(k + j, keys - 1) * stride_mask).x;
      const bool counts = k + j < seen;
      next = counts && (isnan(scores[j]) || scores[j] > next) ? scores[j] : next;
    }
    // Nothing has been seen where `most` is -infinity; a row of nothing but that ends as NaN below.
    const float shrink = most == -kInfinity ? 0.0 : exp(most - next);
    most = next;
    total *= shrink;
    for (int j = 0; j < GROUP; ++j) {
      const float share = next == -kInfinity ? 0.0 : exp(scores[j] - next);
      scores[j] = k + j < seen ? share : 0.0;
      total += scores[j];
    }
    for (int c = 0; c < TEXELS_WIDE; ++c) {
      const vec4 theirs = texelFetch(value, (from_v + min(4 * c, last)) >> 2);
      vec4 sum = sums[c] * shrink;
      for (int j = 0; j < GROUP; ++j) {
        const vec4 other = of_lane(theirs, j);
        sum += scores[j] == 0.0 ? vec4(0.0) : scores[j] * other;
      }
      sums[c] = sum;
    }
  }
  for (int c = 0; c < TEXELS_WIDE; ++c) {
    if (wanted && 4 * c <= last) imageStore(result, (to + 4 * c) >> 2, sums[c] / total);
  }
}
