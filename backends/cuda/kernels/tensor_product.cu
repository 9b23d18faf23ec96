#include <atomic>
#include <vector>

#include "backends/cuda/kernels/launch.h"
#include "backends/cuda/kernels/place.h"
#include "backends/cuda/kernels/tensor_product.h"

namespace berth::cuda {

#if defined(__CUDACC__)
// What the kernel is made of is not referenced in code for GPUs without these tensor cores.
#pragma nv_diag_suppress 177
#define BERTH_APART __noinline__
#else
#define BERTH_APART
#endif

namespace {

// A block computes kTileRows x kTileColumns results with four warps of 32 x 32, kTileDepth of the depth at a time.
constexpr int kTileRows = 64;
constexpr int kTileColumns = 64;
constexpr int kTileDepth = 16;
constexpr int kMostPixels = INT16_MAX / 2;  // of an image, in each direction
// Blocks that fill a large device twice.
constexpr int64_t kEnoughBlocks = 264;
static_assert(kEnoughBlocks / 2 <= kTickets);

// n / d for n * d < 2^32.
struct Divider {
  uint32_t by = 1, magic = 0;
  Divider() = default;
  explicit Divider(int32_t d)
      : by(static_cast<uint32_t>(d)), magic(static_cast<uint32_t>((uint64_t{1} << 32) / d + 1)) {}
  BERTH_HD int divide(int n) const {
    const auto whole = static_cast<uint32_t>(n);
    return by == 1 ? n : static_cast<int>(uint64_t{whole} * magic >> 32);
  }
};

struct Launch {
  TensorProduct p;
  Divider by_taps, by_x_taps;
  int32_t all_columns = 1;
  int32_t splits = 1, tiles_a_split = 1;
  bool wide_a = false;          // four neighbours of a row of a may be loaded at once
  float* partial = nullptr;     // [splits, rows, all_columns]; null: a split is all of the depth
  uint32_t* tickets = nullptr;  // one a tile of the result: how many of its splits are there
};

// The column of b that a thread brings: its image, and the input pixel of its first tap, or its own place.
struct Column {
  const float* image;
  int y, x;
  bool inside;
};

BERTH_HD inline Column column_of(const Launch& l, int column) {
  const int image = column / l.p.columns;
  const int pixel = column - image * l.p.columns;
  Column found = {l.p.b + image * l.p.image_b, 0, pixel, column < l.all_columns};
  if (!l.p.has_taps) return found;
  const int y = pixel / l.p.x.out;
  found.y = y * l.p.y.stride - l.p.y.padding;
  found.x = (pixel - y * l.p.x.out) * l.p.x.stride - l.p.x.padding;
  return found;
}

// A channel and a tap: how far from the first tap of a pixel it reads.
struct Tap {
  int offset;  // elements
  int16_t y, x;
};

BERTH_HD inline Tap tap_of(const Launch& l, int depth) {
  const int channel = l.by_taps.divide(depth);
  const int tap = depth - channel * static_cast<int>(l.by_taps.by);
  const int tap_y = l.by_x_taps.divide(tap);
  const int y = tap_y * l.p.y.dilation;
  const int x = (tap - tap_y * static_cast<int>(l.by_x_taps.by)) * l.p.x.dilation;
  return {channel * static_cast<int>(l.p.depth_b) + y * l.p.x.in + x, static_cast<int16_t>(y), static_cast<int16_t>(x)};
}

BERTH_HD inline bool reads(const Launch& l, const Column& column, const Tap& tap) {
  const bool in_rows = static_cast<unsigned>(column.y + tap.y) < static_cast<unsigned>(l.p.y.in);
  const bool in_columns = static_cast<unsigned>(column.x + tap.x) < static_cast<unsigned>(l.p.x.in);
  // Without a branch.
  return in_rows & in_columns;
}

// The sum as its definition has it. The product of an infinity with a small half that is 0 is not a number, where that
// with the whole number is infinite: so what is not a number is computed again, in this way.
BERTH_HD BERTH_APART float plain_sum(const Launch& l, int row, int at) {
  const Column column = column_of(l, at);
  float sum = 0;
  for (int depth = 0; depth < l.p.depth; ++depth) {
    const float factor = l.p.a[row * l.p.row_a + depth * l.p.depth_a];
    if (!l.p.has_taps) {
      sum += factor * column.image[depth * l.p.depth_b + column.x];
      continue;
    }
    const Tap tap = tap_of(l, depth);
    if (reads(l, column, tap)) sum += factor * column.image[column.y * l.p.x.in + column.x + tap.offset];
  }
  return sum;
}

BERTH_HD inline void finish_element(const Launch& l, int row, int column, float sum) {
  if (sum != sum) sum = plain_sum(l, row, column);
  const int image = column / l.p.columns;
  const int pixel = column - image * l.p.columns;
  const TensorProduct::Squares& squares = l.p.squares;
  const int square = squares.y * squares.x;
  int channel = row;
  int64_t place = pixel;
  if (square > 1) {
    channel = row / square;
    const int in_square = row - channel * square;
    const int y = pixel / squares.width;
    const int64_t line = y * squares.y + in_square / squares.x;
    place = (line * squares.width + pixel - y * squares.width) * squares.x + in_square % squares.x;
  }
  const int64_t at = image * l.p.image_out + channel * l.p.row_out + place;
  const Finish& finish = l.p.finish;
  if (finish.bias != nullptr) sum += finish.bias[l.p.bias_by_row ? channel : pixel];
  if (finish.residual != nullptr) sum += finish.residual[at];
  finish.out[at] = activated(finish.activation, sum);
}

int64_t tiles_of(int64_t n, int64_t tile) { return (n + tile - 1) / tile; }

// How many splits of the depth there are. What a tile of the depth takes, and what joining the splits does, are
// microseconds on an H100; sums of a product must not depend on the device, so that other devices have these too.
int64_t splits_of(const TensorProduct& p, int64_t all_columns, int64_t blocks, const Queue& queue) {
  constexpr double kTileTime = 0.5;
  constexpr double kJoinTime = 3;
  if (queue.tickets == nullptr) return 1;
  const int64_t tiles = tiles_of(p.depth, kTileDepth);
  const auto fitting = static_cast<int64_t>(queue.scratch_bytes / sizeof(float)) / (p.rows * all_columns);
  int64_t best = 1;
  double least = static_cast<double>(tiles) * kTileTime;
  for (int64_t splits = 2; splits <= tiles && splits <= fitting && splits * blocks <= kEnoughBlocks; ++splits) {
    const double time = static_cast<double>(tiles_of(tiles, splits)) * kTileTime + kJoinTime;
    if (time >= least) continue;
    least = time;
    best = splits;
  }
  return best;
}

// False for sizes beyond what the kernel counts in.
bool prepare(const Queue& queue, const TensorProduct& p, Launch* l) {
  const int64_t all_columns = int64_t{p.images} * p.columns;
  const int64_t taps = p.has_taps ? int64_t{p.x.taps} * p.y.taps : 1;
  const int64_t row_tiles = tiles_of(p.rows, kTileRows);
  const int64_t column_tiles = tiles_of(all_columns, kTileColumns);
  const int64_t reach_y = int64_t{p.y.taps} * p.y.dilation;
  const int64_t reach_x = int64_t{p.x.taps} * p.x.dilation;
  const bool near =
      !p.has_taps || (reach_y < kMostPixels && reach_x < kMostPixels && p.y.in < kMostPixels && p.x.in < kMostPixels &&
                      p.y.padding < kMostPixels && p.x.padding < kMostPixels && p.image_b < INT32_MAX / 2);
  const bool fits = near && all_columns <= INT32_MAX - kTileColumns && row_tiles <= 65535 &&
                    p.depth * taps <= INT32_MAX && p.depth <= INT32_MAX - kTileDepth &&
                    p.rows * all_columns <= INT64_MAX / 1024;
  if (!fits || p.rows < 1 || all_columns < 1 || p.depth < 1) return false;
  l->p = p;
  if (p.has_taps) {
    l->by_taps = Divider(static_cast<int32_t>(taps));
    l->by_x_taps = Divider(p.x.taps);
  }
  l->all_columns = static_cast<int32_t>(all_columns);
  l->wide_a = p.depth % 4 == 0 && p.row_a % 4 == 0 && p.depth_a == 1 && reinterpret_cast<uintptr_t>(p.a) % 16 == 0;
  const int64_t splits = splits_of(p, all_columns, row_tiles * column_tiles, queue);
  l->tiles_a_split = static_cast<int32_t>(tiles_of(tiles_of(p.depth, kTileDepth), splits));
  l->splits = static_cast<int32_t>(tiles_of(tiles_of(p.depth, kTileDepth), l->tiles_a_split));
  if (l->splits == 1) return true;
  l->partial = static_cast<float*>(queue.scratch);
  l->tickets = queue.tickets;
  return true;
}

}  // namespace

#if defined(__CUDACC__)

namespace {

constexpr int kThreads = 128;
constexpr int kBuffers = 4;
// Rows of shared memory, padded so that the 32 lanes that load a fragment meet 32 banks.
constexpr int kPitchA = kTileDepth + 4;
constexpr int kPitchB = kTileColumns + 8;
constexpr int kFar = INT16_MIN;                              // a row that no tap of an image reaches
constexpr int kFetched = kTileRows * kTileDepth / kThreads;  // elements of each factor that a thread brings

// A number as two of TF32, whose sum has 23 of its 24 bits.
struct Split {
  uint32_t large, small;
};

__device__ uint32_t to_tf32(float x) {
  uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}

__device__ Split split_of(float x) {
  Split split;
  split.large = to_tf32(x);
  split.small = to_tf32(x - __uint_as_float(split.large));
  return split;
}

__device__ void multiply_add(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Copies to shared memory that go on while the block computes; zeros where `there` is false, when `from` is any
// address.
__device__ void copy_one(float* to, const float* from, bool there) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
               :
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from), "r"(there ? 4 : 0)
               : "memory");
}
__device__ void copy_four(float* to, const float* from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from), "r"(there ? 16 : 0)
               : "memory");
}

// Where a warp's results are in the block's, and a lane's place in fragments (PTX ISA, "Matrix Fragments for
// mma.m16n8k8").
struct WarpPlace {
  int row, column;
  int group, member;
};

// parts += a * b of one tile each, for the 32 x 32 results of a warp.
__device__ __forceinline__ void multiply_tiles(const float* tile_a, const float* tile_b, const WarpPlace& at,
                                               float (&parts)[2][4][4]) {
#pragma unroll
  for (int step = 0; step < kTileDepth; step += 8) {
    uint32_t large_a[2][4], small_a[2][4], large_b[4][2], small_b[4][2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int row = at.row + 16 * i + at.group + k % 2 * 8;
        const Split s = split_of(tile_a[row * kPitchA + step + at.member + k / 2 * 4]);
        large_a[i][k] = s.large;
        small_a[i][k] = s.small;
      }
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const Split s = split_of(tile_b[(step + at.member + 4 * k) * kPitchB + at.column + 8 * j + at.group]);
        large_b[j][k] = s.large;
        small_b[j][k] = s.small;
      }
    }
    // Eight products apart, those that add to the same sums do not wait for each other.
    const auto add_products = [&](const uint32_t(&of_a)[2][4], const uint32_t(&of_b)[4][2]) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) multiply_add(parts[i][j], of_a[i], of_b[j]);
      }
    };
    add_products(small_a, large_b);
    add_products(large_a, small_b);
    add_products(large_a, large_b);
  }
}

__device__ __forceinline__ void store_results(const Launch& l, const WarpPlace& of_warp, const float (&sums)[2][4][4],
                                              float* tile, int first_row, int first_column) {
  const int thread = static_cast<int>(threadIdx.x);
  const int own_column = thread % kTileColumns;
  // Through shared memory, so that neighbouring threads write neighbours, and what finishes an element stands here
  // once.
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int row = of_warp.row + 16 * i + of_warp.group + k / 2 * 8;
        tile[row * kPitchB + of_warp.column + 8 * j + 2 * of_warp.member + k % 2] = sums[i][j][k];
      }
    }
  }
  __syncthreads();
  const int at = first_column + own_column;
  if (at >= l.all_columns) return;
#pragma unroll 1
  for (int row = thread / kTileColumns; row < kTileRows && first_row + row < l.p.rows; row += kThreads / kTileColumns) {
    const float sum = tile[row * kPitchB + own_column];
    if (l.partial == nullptr) {
      finish_element(l, first_row + row, at, sum);
    } else {
      l.partial[(static_cast<int64_t>(blockIdx.z) * l.p.rows + first_row + row) * l.all_columns + at] = sum;
    }
  }
}

// The block that comes last to a tile of the result adds its splits, always in the same order, and leaves its ticket as
// it was found.
__device__ __forceinline__ void join_splits(const Launch& l, int first_row, int first_column) {
  constexpr int kAtOnce = 8;  // rows of a thread, whose splits are on their way together
  __shared__ bool is_last;
  const int thread = static_cast<int>(threadIdx.x);
  uint32_t* const ticket = l.tickets + blockIdx.y * gridDim.x + blockIdx.x;
  // What every thread of the block has stored can be read elsewhere before the block is counted.
  __threadfence();
  __syncthreads();
  if (thread == 0) is_last = atomicAdd(ticket, 1u) == gridDim.z - 1;
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  if (thread == 0) *ticket = 0;
  const int at = first_column + thread % kTileColumns;
  if (at >= l.all_columns) return;
  constexpr int kStep = kThreads / kTileColumns;
  const int64_t count = static_cast<int64_t>(l.p.rows) * l.all_columns;
#pragma unroll 1
  for (int first = thread / kTileColumns; first < kTileRows; first += kAtOnce * kStep) {
    float sums[kAtOnce] = {};
#pragma unroll 2
    for (int split = 0; split < l.splits; ++split) {
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int row = first_row + first + i * kStep;
        if (row < l.p.rows) {
          sums[i] += __ldcg(l.partial + split * count + static_cast<int64_t>(row) * l.all_columns + at);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int row = first_row + first + i * kStep;
      if (row < l.p.rows) finish_element(l, row, at, sums[i]);
    }
  }
}

template <bool kTaps>
__global__ void __launch_bounds__(kThreads) tensor_product_kernel(const __grid_constant__ Launch l) {
#if __CUDA_ARCH__ >= 800
  // The tiles of both factors on their way and at work, and in the end the results.
  constexpr int kFactorA = kTileRows * kPitchA;
  constexpr int kFactorB = kTileDepth * kPitchB;
  static_assert(kBuffers * (kFactorA + kFactorB) >= kTileRows * kPitchB);
  __shared__ float4 shared[kBuffers * (kFactorA + kFactorB) / 4];
  float* const tile = reinterpret_cast<float*>(shared);
  const auto tile_a = [&](int buffer) { return tile + buffer * kFactorA; };
  const auto tile_b = [&](int buffer) { return tile + kBuffers * kFactorA + buffer * kFactorB; };
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  const int warp = thread / 32;
  const int first_row = static_cast<int>(blockIdx.y) * kTileRows;
  const int first_column = static_cast<int>(blockIdx.x) * kTileColumns;
  const int begin = static_cast<int>(blockIdx.z) * l.tiles_a_split * kTileDepth;
  const int end = min(l.p.depth, begin + l.tiles_a_split * kTileDepth);

  // Of a, a thread brings 8 neighbours of a row; of b, every second row of a column.
  const int a_row = thread / 2;
  const int a_depth = thread % 2 * kFetched;
  const float* a = l.p.a + (first_row + a_row) * l.p.row_a;
  const bool has_row = first_row + a_row < l.p.rows;
  const int b_column = thread % kTileColumns;
  const int b_depth = thread / kTileColumns;
  Column column = column_of(l, first_column + b_column);
  // What is not there is beyond the image, or beyond the depth.
  if (!column.inside) column.y = kFar;
  const int a_end = has_row ? end : 0;
  const int b_end = column.inside ? end : 0;
  const float* const b = column.image + (kTaps ? column.y * l.p.x.in + column.x : column.x);
  // The taps of the tile that is brought next and of the one after it.
  __shared__ Tap taps[2][kTaps ? kTileDepth : 1];
  const auto find_taps = [&](int depth) {
    if (!kTaps || thread >= kTileDepth) return;
    const int at = depth + thread;
    taps[depth / kTileDepth % 2][thread] = at < end ? tap_of(l, at) : Tap{0, INT16_MAX, 0};
  };

  // Brings the tile that begins at `depth` to a buffer, without waiting. What lies beyond the factors is 0.
  const auto bring = [&](int depth, int buffer) {
    float* const to_a = tile_a(buffer) + a_row * kPitchA + a_depth;
    if (l.wide_a) {
#pragma unroll
      for (int i = 0; i < kFetched; i += 4) {
        const int at = depth + a_depth + i;
        const bool there = at < a_end;
        copy_four(to_a + i, there ? a + at : l.p.a, there);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kFetched; ++i) {
        const int at = depth + a_depth + i;
        const bool there = at < a_end;
        copy_one(to_a + i, there ? a + at * l.p.depth_a : l.p.a, there);
      }
    }
#pragma unroll
    for (int i = 0; i < kFetched; ++i) {
      [[maybe_unused]] const int at = depth + b_depth + 2 * i;
      float* const to = tile_b(buffer) + (b_depth + 2 * i) * kPitchB + b_column;
      if constexpr (kTaps) {
        const Tap tap = taps[depth / kTileDepth % 2][b_depth + 2 * i];
        const bool there = reads(l, column, tap);
        copy_one(to, there ? b + tap.offset : l.p.b, there);
      } else {
        const bool there = at < b_end;
        copy_one(to, there ? b + at * l.p.depth_b : l.p.b, there);
      }
    }
    asm volatile("cp.async.commit_group;" : : : "memory");
  };

  const WarpPlace of_warp = {warp / 2 * 32, warp % 2 * 32, lane / 4, lane % 4};
  float sums[2][4][4] = {};
  find_taps(begin);
  for (int i = 0; i < kBuffers - 1; ++i) {
    __syncthreads();
    bring(begin + i * kTileDepth, i);
    find_taps(begin + (i + 1) * kTileDepth);
  }
  int buffer = 0;
  for (int depth = begin; depth < end; depth += kTileDepth) {
    // This tile has come, and every thread is done with the buffer that the next one goes to.
    asm volatile("cp.async.wait_group %0;" : : "n"(kBuffers - 2) : "memory");
    __syncthreads();
    bring(depth + (kBuffers - 1) * kTileDepth, (buffer + kBuffers - 1) % kBuffers);
    find_taps(depth + kBuffers * kTileDepth);
    // Tensor cores cut off what they add, so that only short sums are theirs.
    float parts[2][4][4] = {};
    multiply_tiles(tile_a(buffer), tile_b(buffer), of_warp, parts);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
#pragma unroll
        for (int k = 0; k < 4; ++k) sums[i][j][k] += parts[i][j][k];
      }
    }
    buffer = (buffer + 1) % kBuffers;
  }
  asm volatile("cp.async.wait_group 0;" : : : "memory");
  __syncthreads();
  store_results(l, of_warp, sums, tile, first_row, first_column);
  if (l.partial != nullptr) join_splits(l, first_row, first_column);
#endif
}

bool ask_for_tensor_cores() {
  cudaFuncAttributes attributes{};
  const cudaError_t error = cudaFuncGetAttributes(&attributes, tensor_product_kernel<true>);
  if (error != cudaSuccess) static_cast<void>(cudaGetLastError());
  return error == cudaSuccess && attributes.ptxVersion >= 80 && attributes.binaryVersion >= 80;
}

// Whether the code that the driver chose for the current device has the instructions. Devices of one machine differ.
bool has_tensor_cores() {
  enum Answer : int8_t { kUnknown, kYes, kNo };
  static std::atomic<int8_t> answers[128];
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess || device >= 128) return false;
  int8_t answer = answers[device].load(std::memory_order_relaxed);
  if (answer == kUnknown) {
    answer = ask_for_tensor_cores() ? kYes : kNo;
    answers[device].store(answer, std::memory_order_relaxed);
  }
  return answer == kYes;
}

}  // namespace

bool launch_tensor_product(KernelContext& context, const TensorProduct& p, Error* error) {
  Launch l;
  if (!prepare(queue_of(context), p, &l) || !has_tensor_cores()) return false;
  const dim3 grid(static_cast<unsigned>(tiles_of(l.all_columns, kTileColumns)),
                  static_cast<unsigned>(tiles_of(p.rows, kTileRows)), static_cast<unsigned>(l.splits));
  const auto kernel = p.has_taps ? tensor_product_kernel<true> : tensor_product_kernel<false>;
  *error = launch_kernel(context, kernel, grid, kThreads, 0, l);
  return true;
}

#else

namespace {

// What the taps of a column read, in the order of the depth; 0 outside of the image.
void gather(const Launch& l, int at, const std::vector<Tap>& taps, float* to) {
  const Column column = column_of(l, at);
  for (int depth = 0; depth < l.p.depth; ++depth) {
    if (!l.p.has_taps) {
      to[depth] = column.image[depth * l.p.depth_b + column.x];
    } else if (reads(l, column, taps[depth])) {
      to[depth] = column.image[column.y * l.p.x.in + column.x + taps[depth].offset];
    } else {
      to[depth] = 0;
    }
  }
}

// A split after the other, as blocks of the device do: of each, tiles of the depth.
float sum_of_splits(const Launch& l, const float* a, const float* b) {
  const int end = l.p.depth;
  const int whole = end / kTileDepth * kTileDepth;
  float sum = 0;
  for (int split = 0; split < l.splits; ++split) {
    float lanes[kTileDepth] = {};
    const int first = split * l.tiles_a_split * kTileDepth;
    const int last = first + l.tiles_a_split * kTileDepth;
    for (int depth = first; depth < last && depth < whole; depth += kTileDepth) {
      for (int i = 0; i < kTileDepth; ++i) lanes[i] += a[(depth + i) * l.p.depth_a] * b[depth + i];
    }
    for (int depth = whole; depth >= first && depth < last && depth < end; ++depth) {
      lanes[depth - whole] += a[depth * l.p.depth_a] * b[depth];
    }
    float of_split = 0;
    for (const float lane : lanes) of_split += lane;
    sum += of_split;
  }
  return sum;
}

void run_on_host(const Launch& l) {
  std::vector<Tap> taps;
  for (int depth = 0; l.p.has_taps && depth < l.p.depth; ++depth) taps.push_back(tap_of(l, depth));
  std::vector<float> b(l.p.depth);
  for (int at = 0; at < l.all_columns; ++at) {
    gather(l, at, taps, b.data());
    for (int row = 0; row < l.p.rows; ++row) {
      finish_element(l, row, at, sum_of_splits(l, l.p.a + row * l.p.row_a, b.data()));
    }
  }
}

}  // namespace

bool launch_tensor_product(KernelContext& context, const TensorProduct& p, Error* error) {
  Launch l;
  if (!emulated_tensor_cores || !prepare(queue_of(context), p, &l)) return false;
  *error = run_or_defer(context, [l] { run_on_host(l); });
  return true;
}

#endif

}  // namespace berth::cuda
