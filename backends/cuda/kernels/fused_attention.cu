// berth::attention: for each head, softmax(query · key * scale + mask) · value, with the maximum and the sum kept as
// keys go by (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao et al., "FlashAttention",
// 2022), so that no scores are stored.
//
// Heads of up to 128 columns: a warp a query, eight queries a block, which bring 32 keys and values at a time to shared
// memory. Wider ones, and the tests of this room on the host: a thread for 32 columns of a query.
#include <cmath>

#include "backends/cuda/kernels/kernels.h"
#include "backends/cuda/kernels/launch.h"
#include "backends/cuda/kernels/ops.h"
#include "backends/cuda/kernels/place.h"
#include "base/result.h"
#include "kernels/portable/fused_attention.h"

namespace berth::cuda {
namespace {

constexpr int kTile = 32;  // keys, and columns of a thread

struct Heads {
  // Token-major: element (batch, token, column) of each of query, key and value, at the heads' first column.
  const float* base[3];
  int64_t batch_stride[3];
  int64_t token_stride[3];
  const void* mask;  // null: none
  bool mask_is_bool;
  int64_t mask_stride[4];
  float* out;
  int64_t batch, heads, head_size, queries, keys;
  float scale;
  bool causal;

  BERTH_HD const float* row(int which, int64_t b, int64_t head, int64_t token) const {
    return base[which] + b * batch_stride[which] + token * token_stride[which] + head * head_size;
  }
  BERTH_HD float* result(int64_t b, int64_t head, int64_t query) const {
    return out + ((b * queries + query) * heads + head) * head_size;
  }
  /// How many keys a query sees, from the first on, whatever the mask says. Others are not looked at: they may hold
  /// anything.
  BERTH_HD int64_t keys_of(int64_t query) const { return causal && query + 1 < keys ? query + 1 : keys; }
  /// What the mask adds to a score.
  BERTH_HD float mask_at(int64_t b, int64_t head, int64_t query, int64_t key) const {
    if (mask == nullptr) return 0;
    const int64_t at = b * mask_stride[0] + head * mask_stride[1] + query * mask_stride[2] + key * mask_stride[3];
    if (!mask_is_bool) return static_cast<const float*>(mask)[at];
    return static_cast<const uint8_t*>(mask)[at] != 0 ? 0 : -INFINITY;
  }
};

// What queries without keys give.
struct ZeroBody {
  float* out;
  BERTH_HD void operator()(int64_t i) const { out[i] = 0; }
};

struct WideBody {
  Heads h;
  int64_t parts;  // of 32 columns each

  BERTH_HD void operator()(int64_t i) const {
    const Division by_part = divide(i, parts);
    const Division by_query = divide(by_part.quotient, h.queries);
    const Division by_head = divide(by_query.quotient, h.heads);
    const int64_t b = by_head.quotient;
    const int64_t head = by_head.rest;
    const int64_t query = by_query.rest;
    const int64_t first = by_part.rest * kTile;
    const int64_t columns = h.head_size - first < kTile ? h.head_size - first : kTile;
    const float* q = h.row(0, b, head, query);
    float largest = -INFINITY;
    float total = 0;
    float sums[kTile] = {};
    const int64_t seen = h.keys_of(query);
    for (int64_t key = 0; key < seen; ++key) {
      const float* k = h.row(1, b, head, key);
      float score = 0;
      for (int64_t c = 0; c < h.head_size; ++c) score += q[c] * k[c];
      score = score * h.scale + h.mask_at(b, head, query, key);
      const float next = score > largest || score != score ? score : largest;
      const float rescale = largest == -INFINITY ? 0 : ops::exp_of(largest - next);
      const float weight = next == -INFINITY ? 0 : ops::exp_of(score - next);
      const float* v = h.row(2, b, head, key) + first;
      for (int64_t c = 0; c < columns; ++c) sums[c] = sums[c] * rescale + weight * v[c];
      total = total * rescale + weight;
      largest = next;
    }
    for (int64_t c = 0; c < columns; ++c) h.result(b, head, query)[first + c] = sums[c] / total;
  }
};

#if defined(__CUDACC__)

constexpr int kWarps = kBlock / 32;
constexpr int kRows = kTile / kWarps;  // of a tile, that a warp brings
constexpr unsigned kAll = 0xffffffffu;

// Rows of shared memory begin at multiples of 16 bytes, and 8 lanes that read 16 bytes each of their rows meet no bank
// twice.
BERTH_HD constexpr int padded(int size) { return (size + 3) / 4 * 4 + 4; }

struct alignas(16) Four {
  float x, y, z, w;
};

// Brings kTile keys and values to shared memory, all of a thread's elements on their way at once. A warp brings kRows
// of each. What lies beyond the columns and keys is 0.
template <int kColumns>
__device__ void bring_tile(const Heads& h, int64_t b, int64_t head, int64_t first, float* keys, float* values) {
  const int size = static_cast<int>(h.head_size);
  const int pitch = padded(size);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  float fetched[2][kRows][kColumns];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int64_t token = first + warp + r * kWarps;
    const bool there = token < h.keys;
#pragma unroll
    for (int k = 0; k < kColumns; ++k) {
      const int c = lane + 32 * k;
      fetched[0][r][k] = there && c < size ? __ldg(h.row(1, b, head, token) + c) : 0;
      fetched[1][r][k] = there && c < size ? __ldg(h.row(2, b, head, token) + c) : 0;
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int k = 0; k < kColumns; ++k) {
      const int at = (warp + r * kWarps) * pitch + lane + 32 * k;
      if (lane + 32 * k >= pitch) continue;
      keys[at] = fetched[0][r][k];
      values[at] = fetched[1][r][k];
    }
  }
}

__device__ float dot(const float* query, const float* key, int size) {
  float parts[4] = {};
#pragma unroll 4
  for (int c = 0; c < size; c += 4) {
    const Four q = *reinterpret_cast<const Four*>(query + c);
    const Four k = *reinterpret_cast<const Four*>(key + c);
    parts[0] += q.x * k.x;
    parts[1] += q.y * k.y;
    parts[2] += q.z * k.z;
    parts[3] += q.w * k.w;
  }
  return (parts[0] + parts[1]) + (parts[2] + parts[3]);
}

// Adds the first `count` values of a tile, as far as the query sees them. A column beyond the last is computed from
// what lies there, and not stored.
template <int kColumns>
__device__ void add_values(const float* weights, const float* values, int pitch, int64_t count,
                           float (&sums)[kColumns]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (count < kTile) {
    for (int j = 0; j < count; ++j) {
      for (int k = 0; k < kColumns; ++k) sums[k] += weights[j] * values[j * pitch + min(lane + 32 * k, pitch - 1)];
    }
    return;
  }
#pragma unroll
  for (int j = 0; j < kTile; j += 4) {
    const Four weight = *reinterpret_cast<const Four*>(weights + j);
#pragma unroll
    for (int k = 0; k < kColumns; ++k) {
      const float* value = values + j * pitch + min(lane + 32 * k, pitch - 1);
      sums[k] += weight.x * value[0] + weight.y * value[pitch];
      sums[k] += weight.z * value[2 * pitch] + weight.w * value[3 * pitch];
    }
  }
}

__device__ float warp_max(float x) {
  for (int half = 16; half > 0; half /= 2) x = fmaxf(x, __shfl_xor_sync(kAll, x, half));
  return x;
}

__device__ float warp_sum(float x) {
  for (int half = 16; half > 0; half /= 2) x += __shfl_xor_sync(kAll, x, half);
  return x;
}

// kColumns: columns of the result that each lane has, 32 apart.
template <int kColumns>
__global__ void __launch_bounds__(kBlock) attention_kernel(const __grid_constant__ Heads h) {
  extern __shared__ float4 shared[];
  const int size = static_cast<int>(h.head_size);
  const int pitch = padded(size);
  float* keys = reinterpret_cast<float*>(shared);  // [kTile][pitch]
  float* values = keys + kTile * pitch;            // [kTile][pitch]
  float* queries = values + kTile * pitch;         // [kWarps][pitch]
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  float* weights = queries + kWarps * pitch + warp * kTile;  // [kTile], of this warp
  const int64_t head = blockIdx.y;
  const int64_t b = blockIdx.z;
  const int64_t query = static_cast<int64_t>(blockIdx.x) * kWarps + warp;
  const bool inside = query < h.queries;
  float* mine = queries + warp * pitch;
  for (int c = lane; c < pitch; c += 32) mine[c] = inside && c < size ? __ldg(h.row(0, b, head, query) + c) : 0;
  const int64_t seen = inside ? h.keys_of(query) : 0;
  const int64_t seen_by_block = h.keys_of(static_cast<int64_t>(blockIdx.x) * kWarps + kWarps - 1);
  float largest = -INFINITY;
  float total = 0;
  float sums[kColumns] = {};
  for (int64_t first = 0; first < seen_by_block; first += kTile) {
    __syncthreads();
    bring_tile<kColumns>(h, b, head, first, keys, values);
    __syncthreads();
    float score = dot(mine, keys + lane * pitch, size);
    const bool sees = first + lane < seen;
    score = sees ? score * h.scale + h.mask_at(b, head, query, first + lane) : -INFINITY;
    const float next = fmaxf(largest, warp_max(score));
    // All is masked so far. A score that is not a number goes on to the sum, as every comparison with it is false.
    const bool masked = next == -INFINITY && __all_sync(kAll, score == -INFINITY);
    const float weight = masked || !sees ? 0 : expf(score - next);
    const float rescale = largest == -INFINITY ? 0 : expf(largest - next);
    total = total * rescale + warp_sum(weight);
    largest = next;
    weights[lane] = weight;
    __syncwarp();
#pragma unroll
    for (int k = 0; k < kColumns; ++k) sums[k] *= rescale;
    add_values<kColumns>(weights, values, pitch, seen - first, sums);
    __syncwarp();
  }
  if (!inside) return;
  float* result = h.result(b, head, query);
  for (int k = 0; k < kColumns; ++k) {
    const int c = lane + 32 * k;
    if (c < size) result[c] = sums[k] / total;
  }
}

// False when a block would need more than every device has.
bool launch_narrow(KernelContext& context, const Heads& h, Error* error) {
  if (h.head_size > 128 || h.heads > 65535 || h.batch > 65535) return false;
  const int64_t tiles = (h.queries + kWarps - 1) / kWarps;
  if (tiles > INT32_MAX) return false;
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(h.heads), static_cast<unsigned>(h.batch));
  const auto size = static_cast<int>(h.head_size);
  const size_t bytes = sizeof(float) * ((2 * kTile + kWarps) * padded(size) + kWarps * kTile);
  const auto kernel = size <= 32 ? attention_kernel<1> : size <= 64 ? attention_kernel<2> : attention_kernel<4>;
  *error = launch_kernel(context, kernel, grid, kBlock, bytes, h);
  return true;
}

#else

bool launch_narrow(KernelContext&, const Heads&, Error*) { return false; }

#endif

}  // namespace

Error fused_attention_out(KernelContext& context, const arguments::fused_attention_out& args) {
  portable::Attention a(args);
  BERTH_RETURN_IF_ERROR(portable::prepare_attention(context, &a));
  Heads h{};
  const Tensor* const tensors[] = {a.query, a.key, a.value};
  for (int i = 0; i < 3; ++i) {
    h.base[i] = tensors[i]->data<float>() + a.column[i];
    h.batch_stride[i] = tensors[i]->stride(0);
    h.token_stride[i] = tensors[i]->stride(1);
  }
  h.mask = a.mask == nullptr ? nullptr : a.mask->raw();
  h.mask_is_bool = a.mask != nullptr && a.mask->dtype() == DType::kBool;
  for (int d = 0; d < 4; ++d) h.mask_stride[d] = a.mask_stride[d];
  h.out = args.out.data<float>();
  h.batch = a.query->size(0);
  h.heads = a.heads;
  h.head_size = a.head_size;
  h.queries = a.query->size(1);
  h.keys = a.key->size(1);
  h.scale = a.scale;
  h.causal = a.causal;
  const int64_t items = h.batch * h.queries * h.heads;
  if (items == 0) return Error::kOk;
  if (h.keys == 0) return for_each(context, items * h.head_size, ZeroBody{h.out});
  Error error = Error::kOk;
  if (launch_narrow(context, h, &error)) return error;
  const int64_t parts = (h.head_size + kTile - 1) / kTile;
  return for_each(context, items * parts, WideBody{h, parts});
}

}  // namespace berth::cuda
