// The two shapes that the kernels of this room have, but for four (docs/cuda.md), and how each is launched.
//
//   for_each(context, count, body)      body(i) for i in [0, count), each on a thread of its own
//   for_rows(context, rows, body)       rows of body.length elements: each row is folded to one state by a group of
//                                       threads, and then, if the body wants it, written by the same threads
//
// A body is a plain struct of numbers and pointers that travels as the launch's parameter; what it does is BERTH_HD
// code. A body for rows has
//
//   struct State, struct Row     what is folded, and what is known of a row once its number is
//   int64_t length               elements of a row
//   Row row(i)                   for row i
//   State start()                the state of no elements
//   take(State&, Row, k)         element k goes in
//   merge(State&, State)         the second state, of elements after the first one's or between them, goes in
//   finish(Row, State)           called once a row
//   bool kWrites                 whether the row is written then:
//   Written written(State)       what that takes of the state, worked out once for each thread
//   write(Row, k, Written)       called for each element
//
// Few long rows that are not written are folded in two launches (split_rows.h), so that they have more than one block
// each.
//
// Where nvcc compiles, these are launches into the context's queue. Any other compiler gets the same work as a loop on
// the host, row groups with as many lanes and in the same order of folding: so that the tests of this room hold every
// line that computes an index against the portable kernels on a machine without a GPU.
#pragma once

#include <type_traits>

#include "backends/cuda/kernels/element.h"
#include "backends/cuda/kernels/split_rows.h"
#include "backends/cuda/queue.h"
#include "base/result.h"

#if defined(__CUDACC__)
#include <cuda_runtime.h>

#include "backends/cuda/kernels/launch_kernel.h"
#endif

namespace berth::cuda {

/// Threads of a block; for_rows() divides them into groups of a power of two.
constexpr int kBlock = 256;

/// A launch's parameters may take 4 KiB on every device.
constexpr size_t kMaxBodyBytes = 4000;

/// What a fault is called from inside a body.
BERTH_HD inline void raise(uint32_t* fault, Fault what) {
  if (fault != nullptr) *static_cast<volatile uint32_t*>(fault) = what;
}

/// How many threads share a row: all 256 for few long rows, one for many short ones, or where neighbouring rows are
/// neighbours in memory and a row's elements are not.
inline int lanes_for(int64_t rows, int64_t length, bool rows_are_neighbours) {
  int lanes = 1;
  // A row whose elements lie apart is read best by a thread of its own, if there are rows enough to fill the device.
  if (rows_are_neighbours && rows >= 4096) return 1;
  while (lanes < kBlock && lanes * 2 <= length) lanes *= 2;
  return lanes;
}

#if defined(__CUDACC__)

/// Blocks that a launch of `count` threads gets; threads go round when that is not enough.
inline unsigned blocks_for(int64_t count) {
  constexpr int64_t kMost = 1 << 20;
  const int64_t blocks = (count + kBlock - 1) / kBlock;
  return static_cast<unsigned>(blocks < kMost ? blocks : kMost);
}

template <typename Body>
__global__ void __launch_bounds__(kBlock) each_kernel(const __grid_constant__ Body body, int64_t count) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kBlock;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kBlock + threadIdx.x; i < count; i += step) body(i);
}

// All threads of a block go through the same number of rounds, so that each of them meets every barrier.
template <typename Body>
__global__ void __launch_bounds__(kBlock) rows_kernel(const __grid_constant__ Body body, int64_t rows, int lanes) {
  using State = typename Body::State;
  alignas(16) __shared__ unsigned char room[kBlock * sizeof(State)];
  State* states = reinterpret_cast<State*>(room);
  const int lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  const int groups = kBlock / lanes;
  const int group = static_cast<int>(threadIdx.x) / lanes;
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * groups; first < rows;
       first += static_cast<int64_t>(gridDim.x) * groups) {
    const bool inside = first + group < rows;
    const typename Body::Row row = body.row(inside ? first + group : 0);
    State state = body.start();
    if (inside) {
      for (int64_t k = lane; k < body.length; k += lanes) body.take(state, row, k);
    }
    states[threadIdx.x] = state;
    __syncthreads();
    for (int half = lanes / 2; half > 0; half /= 2) {
      if (lane < half) body.merge(states[threadIdx.x], states[threadIdx.x + half]);
      __syncthreads();
    }
    const State total = states[threadIdx.x - lane];
    if (inside) {
      if (lane == 0) body.finish(row, total);
      if constexpr (Body::kWrites) {
        const auto written = body.written(total);
        for (int64_t k = lane; k < body.length; k += lanes) body.write(row, k, written);
      }
    }
    // The next round writes the states that this one has just read.
    __syncthreads();
  }
}

template <typename Body>
Error for_each(KernelContext& context, int64_t count, const Body& body) {
  static_assert(std::is_trivially_copyable_v<Body> && sizeof(Body) <= kMaxBodyBytes);
  if (count <= 0) return Error::kOk;
  return launch_kernel(context, each_kernel<Body>, blocks_for(count), kBlock, 0, body, count);
}

template <typename Body>
Error for_whole_rows(KernelContext& context, int64_t rows, bool rows_are_neighbours, const Body& body) {
  static_assert(std::is_trivially_copyable_v<Body> && sizeof(Body) <= kMaxBodyBytes);
  static_assert(std::is_trivially_copyable_v<typename Body::State> && alignof(typename Body::State) <= 16);
  static_assert(sizeof(typename Body::State) * kBlock <= 48 * 1024);
  if (rows <= 0) return Error::kOk;
  const int lanes = lanes_for(rows, body.length, rows_are_neighbours);
  return launch_kernel(context, rows_kernel<Body>, blocks_for(rows * lanes), kBlock, 0, body, rows, lanes);
}

#else

template <typename Loop>
Error run_or_defer(KernelContext& context, const Loop& loop) {
  count_launch(queue_of(context));
  if (defer_launch == nullptr) {
    loop();
  } else {
    defer_launch(queue_of(context).stream, loop);
  }
  return Error::kOk;
}

template <typename Body>
Error for_each(KernelContext& context, int64_t count, const Body& body) {
  static_assert(std::is_trivially_copyable_v<Body> && sizeof(Body) <= kMaxBodyBytes);
  if (count <= 0) return Error::kOk;
  return run_or_defer(context, [count, body] {
    for (int64_t i = 0; i < count; ++i) body(i);
  });
}

template <typename Body>
void run_rows(int64_t rows, int lanes, const Body& body) {
  typename Body::State states[kBlock];
  for (int64_t i = 0; i < rows; ++i) {
    const typename Body::Row row = body.row(i);
    for (int lane = 0; lane < lanes; ++lane) {
      states[lane] = body.start();
      for (int64_t k = lane; k < body.length; k += lanes) body.take(states[lane], row, k);
    }
    for (int half = lanes / 2; half > 0; half /= 2) {
      for (int lane = 0; lane < half; ++lane) body.merge(states[lane], states[lane + half]);
    }
    body.finish(row, states[0]);
    if constexpr (Body::kWrites) {
      const auto written = body.written(states[0]);
      for (int64_t k = 0; k < body.length; ++k) body.write(row, k, written);
    }
  }
}

template <typename Body>
Error for_whole_rows(KernelContext& context, int64_t rows, bool rows_are_neighbours, const Body& body) {
  static_assert(std::is_trivially_copyable_v<Body> && sizeof(Body) <= kMaxBodyBytes);
  if (rows <= 0) return Error::kOk;
  const int lanes = lanes_for(rows, body.length, rows_are_neighbours);
  return run_or_defer(context, [rows, lanes, body] { run_rows(rows, lanes, body); });
}

#endif

template <typename Body>
Error for_rows(KernelContext& context, int64_t rows, bool rows_are_neighbours, const Body& body) {
  if constexpr (!Body::kWrites) {
    const int64_t parts = parts_of_row(queue_of(context), rows, body.length, sizeof(typename Body::State));
    if (parts > 1) {
      auto* const states = static_cast<typename Body::State*>(queue_of(context).scratch);
      const PartBody<Body> part(body, states, parts);
      BERTH_RETURN_IF_ERROR(for_whole_rows(context, rows * parts, false, part));
      return for_whole_rows(context, rows, false, JoinBody<Body>(body, states, parts));
    }
  }
  return for_whole_rows(context, rows, rows_are_neighbours, body);
}

}  // namespace berth::cuda
