// The arithmetic that ExecuTorch's kernels have for complex numbers too: sums, products and quotients of tensors,
// matrix products, magnitudes, sums over dimensions. Computed in double; both tensors have one complex dtype.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::portable {

/// Arguments as those of aten::add.out and aten::sub.out: self, other, alpha, out. `sign` is 1 or -1.
Error complex_add(KernelContext& context, const Tensor& self, const Tensor& other, double alpha, Tensor& out);
/// Arguments as those of aten::mul.out and aten::div.out: self, other, out.
Error complex_mul(KernelContext& context, const Tensor& self, const Tensor& other, Tensor& out);
Error complex_div(KernelContext& context, const Tensor& self, const Tensor& other, Tensor& out);
/// self, out, which is of the type of the parts.
Error complex_abs(KernelContext& context, const Tensor& self, Tensor& out);
/// self, dim, keepdim, dtype, out.
Error complex_sum(KernelContext& context, const arguments::sum_IntList_out& args);
/// Batches of matrices, or matrices; `out` has the sizes of the product, and all are of one dtype and have memory.
void complex_product(KernelContext& context, const Tensor& self, const Tensor& mat2, Tensor& out);

/// Copies with a change between complex types, or from or to real numbers: the imaginary part becomes 0, or is lost.
/// REQUIRES: sizes are equal or `from` stretches to them; one is complex, the other complex or is_real; both have
/// memory.
void complex_copy(const Tensor& from, Tensor& to);

/// The type of the real and the imaginary part.
DType part_dtype(DType complex);

}  // namespace berth::portable
