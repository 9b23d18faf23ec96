// berth::attention: for each head, softmax(query · key * scale + mask) · value, with the maximum and the sum kept as keys
// go by (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao et al., "FlashAttention", 2022),
// so that no scores are stored.
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
  /// What is added to a score; minus infinity where the query does not see the key.
  BERTH_HD float masked(int64_t b, int64_t head, int64_t query, int64_t key) const {
    if (causal && key > query) return -INFINITY;
    if (mask == nullptr) return 0;
    const int64_t at = b * mask_stride[0] + head * mask_stride[1] + query * mask_stride[2] + key * mask_stride[3];
    if (!mask_is_bool) return static_cast<const float*>(mask)[at];
    return static_cast<const uint8_t*>(mask)[at] != 0 ? 0 : -INFINITY;
  }
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
    float most = -INFINITY;
    float total = 0;
    float sums[kTile] = {};
    for (int64_t key = 0; key < h.keys; ++key) {
      const float* k = h.row(1, b, head, key);
      float score = 0;
      for (int64_t c = 0; c < h.head_size; ++c) score += q[c] * k[c];
      score = score * h.scale + h.masked(b, head, query, key);
      if (score == -INFINITY) continue;
      const float now = score > most || score != score ? score : most;
      const float shrink = most == -INFINITY ? 0 : ops::exp_of(most - now);
      const float share = ops::exp_of(score - now);
      const float* v = h.row(2, b, head, key) + first;
      for (int64_t c = 0; c < columns; ++c) sums[c] = sums[c] * shrink + share * v[c];
      total = total * shrink + share;
      most = now;
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

// kColumns: columns of the result that each lane has, 32 apart.
template <int kColumns>
__global__ void __launch_bounds__(kBlock) attention_kernel(const __grid_constant__ Heads h) {
  extern __shared__ float4 aligned_room[];
  float* room = reinterpret_cast<float*>(aligned_room);
  const int size = static_cast<int>(h.head_size);
  const int pitch = padded(size);
  float* keys = room;                        // [kTile][pitch]
  float* values = keys + kTile * pitch;      // [kTile][pitch]
  float* queries = values + kTile * pitch;   // [kWarps][pitch]
  float* shares = queries + kWarps * pitch;  // [kWarps][kTile]
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int64_t head = blockIdx.y;
  const int64_t b = blockIdx.z;
  const int64_t query = static_cast<int64_t>(blockIdx.x) * kWarps + warp;
  const bool inside = query < h.queries;
  float* mine = queries + warp * pitch;
  for (int c = lane; c < pitch; c += 32) mine[c] = inside && c < size ? __ldg(h.row(0, b, head, query) + c) : 0;
  const int64_t last_query = static_cast<int64_t>(blockIdx.x) * kWarps + kWarps - 1;
  const int64_t seen = h.causal && last_query + 1 < h.keys ? last_query + 1 : h.keys;
  float most = -INFINITY;
  float total = 0;
  float sums[kColumns] = {};
  for (int64_t first = 0; first < seen; first += kTile) {
    __syncthreads();
    // A warp brings four rows of each, all of them on their way at once. What lies beyond the columns and keys is 0.
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
    __syncthreads();
    float parts[4] = {};
#pragma unroll 4
    for (int c = 0; c < size; c += 4) {
      const Four q = *reinterpret_cast<const Four*>(mine + c);
      const Four k = *reinterpret_cast<const Four*>(keys + lane * pitch + c);
      parts[0] += q.x * k.x;
      parts[1] += q.y * k.y;
      parts[2] += q.z * k.z;
      parts[3] += q.w * k.w;
    }
    float score = (parts[0] + parts[1]) + (parts[2] + parts[3]);
    const bool visible = inside && first + lane < h.keys;
    score = visible ? score * h.scale + h.masked(b, head, query, first + lane) : -INFINITY;
    float now = fmaxf(most, score);
    for (int half = 16; half > 0; half /= 2) now = fmaxf(now, __shfl_xor_sync(kAll, now, half));
    // Nothing to be seen so far. A score that is not a number goes on to the sum, as every comparison with it is false.
    const bool blind = now == -INFINITY && __all_sync(kAll, score == -INFINITY);
    const float share = blind ? 0 : expf(score - now);
    const float shrink = most == -INFINITY ? 0 : expf(most - now);
    float added = share;
    for (int half = 16; half > 0; half /= 2) added += __shfl_xor_sync(kAll, added, half);
    total = total * shrink + added;
    most = now;
    shares[warp * kTile + lane] = share;
    __syncwarp();
#pragma unroll
    for (int k = 0; k < kColumns; ++k) sums[k] *= shrink;
#pragma unroll
    for (int j = 0; j < kTile; j += 4) {
      const Four weight = *reinterpret_cast<const Four*>(shares + warp * kTile + j);
#pragma unroll
      for (int k = 0; k < kColumns; ++k) {
        // A column beyond the last is computed from what lies there, and not stored.
        const float* value = values + j * pitch + min(lane + 32 * k, pitch - 1);
        sums[k] += weight.x * value[0] + weight.y * value[pitch];
        sums[k] += weight.z * value[2 * pitch] + weight.w * value[3 * pitch];
      }
    }
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
  const auto stream = static_cast<cudaStream_t>(queue_of(context).stream);
  if (size <= 32) {
    attention_kernel<1><<<grid, kBlock, bytes, stream>>>(h);
  } else if (size <= 64) {
    attention_kernel<2><<<grid, kBlock, bytes, stream>>>(h);
  } else {
    attention_kernel<4><<<grid, kBlock, bytes, stream>>>(h);
  }
  *error = launched(context);
  return true;
}

#else

bool launch_narrow(KernelContext&, const Heads&, Error*) { return false; }

#endif

}  // namespace

Error fused_attention_out(KernelContext& context, const arguments::fused_attention_out& args) {
  portable::Attention a;
  BERTH_RETURN_IF_ERROR(portable::read_attention(context, args, &a));
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
  Error error = Error::kOk;
  if (launch_narrow(context, h, &error)) return error;
  const int64_t parts = (h.head_size + kTile - 1) / kTile;
  return for_each(context, items * parts, WideBody{h, parts});
}

}  // namespace berth::cuda
