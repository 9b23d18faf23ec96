#include "backends/cuda/kernels/launch.h"
#include "backends/cuda/kernels/row_norm.h"

namespace berth::cuda {

#if defined(__CUDACC__)

namespace {

constexpr int kThreads = 128;
constexpr unsigned kAll = 0xffffffffu;

// The sum over the block, in the same order for each thread, and in every run.
__device__ double block_sum(double x, double* room) {
  for (int half = 16; half > 0; half /= 2) x += __shfl_xor_sync(kAll, x, half);
  __syncthreads();
  if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = x;
  __syncthreads();
  double sum = 0;
  for (int warp = 0; warp < kThreads / 32; ++warp) sum += room[warp];
  return sum;
}

// kHeld elements a thread stay in registers: a row is read once.
template <int kHeld>
__global__ void __launch_bounds__(kThreads) row_norm_kernel(const __grid_constant__ RowNorm norm) {
  __shared__ double room[kThreads / 32];
  const int length = static_cast<int>(norm.length);
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t row = blockIdx.x;
  const float* in = norm.in + row * length;
  float held[kHeld];
  double sum = 0;
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    const int at = thread + i * kThreads;
    held[i] = at < length ? in[at] : 0;
    sum += held[i];
  }
  const double mean = block_sum(sum, room) / length;
  const auto center = static_cast<float>(mean);
  // The mean's rounding error, so that the squares are those around the exact one.
  const auto rest = static_cast<float>(mean - center);
  double squares = 0;
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    held[i] = held[i] - center - rest;
    if (thread + i * kThreads < length) squares += static_cast<double>(held[i]) * held[i];
  }
  const auto rstd = static_cast<float>(1 / sqrt(block_sum(squares, room) / length + norm.eps));
  if (thread == 0) {
    norm.mean[row] = center;
    norm.rstd[row] = rstd;
  }
  float* out = norm.out + row * length;
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    const int at = thread + i * kThreads;
    if (at >= length) continue;
    const float scaled = held[i] * rstd * (norm.weight == nullptr ? 1 : norm.weight[at]);
    out[at] = scaled + (norm.bias == nullptr ? 0 : norm.bias[at]);
  }
}

}  // namespace

bool launch_row_norm(KernelContext& context, const RowNorm& norm, int64_t rows, Error* error) {
  if (norm.length > 32 * kThreads || rows > INT32_MAX) return false;
  const auto kernel = norm.length <= 8 * kThreads ? row_norm_kernel<8> : row_norm_kernel<32>;
  *error = launch_kernel(context, kernel, static_cast<unsigned>(rows), kThreads, 0, norm);
  return true;
}

#else

bool launch_row_norm(KernelContext&, const RowNorm&, int64_t, Error*) { return false; }

#endif

}  // namespace berth::cuda
