// The one driver of all element-wise kernels.
//
// An operator gives loops over plain arrays of the types to compute in (loops.h); the driver brings the elements there:
// it resizes the output, broadcasts, walks any dimension orders, converts dtypes, and splits the work over threads.
// When every tensor has the loop's type, arrays are the tensors themselves; otherwise a few hundred elements at a time
// go through buffers on the stack.
#pragma once

#include <cstdint>

#include "kernels/portable/convert.h"
#include "kernels/portable/dispatch.h"
#include "runtime/kernel.h"

namespace berth::portable {

/// Numbers that an operator's loop needs beside the elements.
struct Scalars {
  double real[3] = {};
  int64_t whole[5] = {};
};

/// A loop's arrays. `in[k]` has `n` elements, or one when `splat[k]`. `out` may be the same memory as an `in[k]` that
/// has the same element size, and then overlaps no other.
struct Chunk {
  void* out;
  const void* in[3];
  bool splat[3];
  int64_t n;
  const Scalars* scalars;
};

using Loop = void (*)(const Chunk& chunk);

/// An operator's loops; null where the operator does not take the type.
struct Loops {
  Loop f32 = nullptr;
  Loop f64 = nullptr;
  Loop i64 = nullptr;
  Loop u64 = nullptr;

  /// The type to compute in for an operation in `common`: f32, f64, i64, or u64 where there is a loop for it.
  DType compute(DType common) const {
    return common == DType::kU64 && u64 != nullptr ? DType::kU64 : compute_dtype(common);
  }
  /// REQUIRES: compute is f32, f64, i64 or u64.
  Loop at(DType compute) const {
    if (compute == DType::kU64) return u64;
    return compute == DType::kF32 ? f32 : compute == DType::kF64 ? f64 : i64;
  }
};

/// Elements that go into a loop: those of `tensor`, or the one at `scalar` when `tensor` is null.
struct Input {
  const Tensor* tensor = nullptr;
  /// What the loop reads: f32, f64, i64, u64 or bool.
  DType compute = DType::kF32;
  /// The dtype that the operation is in by PyTorch's rules. What is not of this type is rounded to it first.
  DType common = DType::kF32;
  /// One element of type `compute`.
  const void* scalar = nullptr;
};

/// What comes out of a loop: `compute` is what it writes, `common` what the operation is in.
struct Output {
  Tensor* tensor;
  DType compute;
  DType common;
};

/// Runs `loop` over the elements of `output`, which is resized to what the inputs (one to three) broadcast to.
/// InvalidArgument when sizes do not match, a dtype is not taken (every real one is, but u64 only in loops of u64 and,
/// as real numbers, beside floats), or `common` cannot be cast to the output's dtype.
Error run_elementwise(KernelContext& context, const Output& output, Span<const Input> inputs, Loop loop,
                      const Scalars& scalars);

/// Fast path of run_elementwise(): whether `out` and `inputs` are f32 of one layout; then the loop has run.
bool run_dense_f32(KernelContext& context, Tensor& out, Span<const Tensor* const> inputs, Loop loop,
                   const Scalars& scalars);

}  // namespace berth::portable
