// Products of matrices, and what is one in disguise: a convolution, and each phase of a transposed one.
//
//   C[row, column] = start[row, column] + sum over depth of A[row, depth] * B[depth, column]
//
// A column is a position of an output grid of three axes; a depth is a channel and a tap (a position of the kernel) on
// each axis; B[depth, column] is the element of the channel at
//
//   in = grid position * step + tap * tap_step + origin        on each axis, and 0 where that lies outside [0, size)
//
// so that no patch matrix is ever written in full. A matrix product has one column axis and one tap.
//
// How, for f32: B is packed by blocks into panels as wide as a tile (gemm_tile.h), A into panels as high as one, both
// so small that they stay in the second-level cache. The way follows Goto and van de Geijn, "Anatomy of
// High-Performance Matrix Multiplication" (ACM TOMS 34:3, 2008). Each element of C is a sum of sums over blocks of
// depth, each added in order; the blocks depend on the product alone, so the results do not depend on the number of
// threads. Many small products are computed one by one as they are (gemm_small.cc). The other dtypes go a plainer way
// (gemm_plain.cc): f16 and bf16 are summed in f32, integers wrap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/kernel.h"

namespace berth::portable {

struct TileSet;

/// Strides are in elements.
struct Product {
  /// Independent products: the strides from one to the next.
  struct Batch {
    int64_t count = 1;
    int64_t a = 0, b = 0, c = 0, start = 0;
  };
  struct Axis {
    int64_t count = 1;     // positions of the grid
    int64_t size = 1;      // elements of the input
    int64_t step = 1;      // input elements from one position to the next
    int64_t origin = 0;    // input element of position 0 and tap 0; may be outside
    int64_t taps = 1;      // of the kernel
    int64_t tap_step = 1;  // input elements from one tap to the next; may be negative
    int64_t tap_a = 0;     // stride of A from one tap to the next
    int64_t b = 1;         // stride of B from one input element to the next
    int64_t c = 1;         // stride of C from one position to the next
  };

  /// A factor as floating types and as integer types take it.
  struct Factor {
    double real = 1;
    int64_t whole = 1;
  };

  Batch batch[2];
  int64_t rows = 1, row_a = 0, row_c = 0;
  int64_t channels = 1, channel_a = 1, channel_b = 0;
  Axis axis[3];  // outermost first

  /// Of A, B, C and start: any integer or floating type.
  DType dtype = DType::kF32;
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  Factor a_scale;

  /// start[row, column] = start_scale * start[row * start_row + column * start_column], or 0 when null. May be C's own
  /// memory if the strides are C's too.
  const void* start = nullptr;
  int64_t start_row = 0, start_column = 0;
  Factor start_scale;

  int64_t columns() const { return axis[0].count * axis[1].count * axis[2].count; }
  int64_t taps() const { return axis[0].taps * axis[1].taps * axis[2].taps; }
  int64_t depth() const { return channels * taps(); }
  int64_t batches() const { return batch[0].count * batch[1].count; }
};

/// A product of an m x k and a k x n matrix of f32 with the given strides.
Product matrix_product(int64_t m, int64_t n, int64_t k, const void* a, int64_t a_row, int64_t a_column, const void* b,
                       int64_t b_row, int64_t b_column, void* c, int64_t c_row, int64_t c_column);

/// The bytes of scratch memory that run_product needs on up to `threads` threads. Looks at no pointer.
size_t product_scratch_bytes(const Product& product, int threads);

/// The most that any product needs.
size_t max_product_scratch_bytes(int threads);

/// Computes the product. `scratch` is aligned to 64 and has product_scratch_bytes(product, context.threads()).
/// REQUIRES: sizes are those of real tensors; C overlaps neither A nor B.
void run_product(KernelContext& context, const Product& product, void* scratch);

/// The same with scratch memory from the context. MemoryAllocationFailed when there is not enough.
Error run_product(KernelContext& context, const Product& product);

namespace internal {
// The three ways. The first REQUIRES f32; it takes the tile set for its tests.
size_t tiled_scratch_bytes(const Product& product, int threads, const TileSet& tiles);
void run_tiled_product(KernelContext& context, const Product& product, const TileSet& tiles, void* scratch);
size_t plain_scratch_bytes(const Product& product, int threads);
void run_plain_product(KernelContext& context, const Product& product, void* scratch);
/// Whether there are many of them and each has few multiplications. Looks at no pointer but for null.
bool are_small_products(const Product& product);
/// Without scratch memory. REQUIRES: are_small_products().
void run_small_products(KernelContext& context, const Product& product);
}  // namespace internal

}  // namespace berth::portable
