// mm's, bmm's and addmm's arguments, checked, as the products that they are. Shared by every set of kernels.
#pragma once

#include "kernels/portable/arguments.h"
#include "kernels/portable/gemm.h"
#include "kernels/portable/layout_arguments.h"

namespace berth::portable {

/// Whether Product takes the dtype: any integer or floating one.
inline bool takes_product(DType dtype) { return is_floating(dtype) || is_integer(dtype); }

/// The product of two matrices or two batches of matrices with the same rank as `out`, which has its sizes.
Product product_of(const Tensor& self, const Tensor& mat2, const Tensor& out);

/// Checks two matrices (`rank` 2) or batches of them (3) and gives `out` the sizes of their product. All have one
/// dtype, which Product takes, or which is complex.
Error prepare_product(KernelContext& context, const Tensor& self, const Tensor& mat2, Tensor& out, int rank);

/// prepare_product(), then product_of(). InvalidArgument for complex dtypes.
Error read_product(KernelContext& context, const Tensor& self, const Tensor& mat2, Tensor& out, int rank, Product* p);

/// addmm(self, mat1, mat2, beta, alpha, out): beta * self + alpha * mat1 @ mat2. self is stretched to the sizes of out,
/// and may be out. With beta 0 it is not looked at, whatever it holds.
Error read_addmm(KernelContext& context, const arguments::addmm_out& args, Product* p);

}  // namespace berth::portable
