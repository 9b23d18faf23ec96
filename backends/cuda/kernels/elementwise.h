// The one driver of all element-wise operators on the device: the counterpart of kernels/portable/elementwise.h, whose
// Output, Input and Scalars it takes.
#pragma once

#include "backends/cuda/kernels/ops.h"
#include "kernels/portable/elementwise.h"
#include "kernels/portable/iterate.h"

namespace berth::cuda {

using portable::Input;
using portable::Output;
using portable::Scalars;

/// Runs `op` over the elements of `output`, which is resized to what the inputs (one to three) broadcast to, computed
/// in `compute` (f32, f64 or i64). InvalidArgument as from portable::run_elementwise().
Error run_elementwise(KernelContext& context, Op op, DType compute, const Output& output, Span<const Input> inputs,
                      const Scalars& scalars);

/// `out` = op(a, b) where the three boxes of the same sizes lie as the walk's operands 0, 1 and 2 say, from the given
/// first elements on; all of `dtype`, which is floating.
Error run_boxes(KernelContext& context, Op op, DType dtype, const portable::Walk& walk, void* out, const void* a,
                const void* b);

/// Converts the box that the walk's operand 1 names to the dtype and the place of operand 0, as PyTorch converts (also
/// from floating to whole numbers). REQUIRES: real dtypes.
Error run_conversion(KernelContext& context, const portable::Walk& walk, void* out, DType out_dtype, const void* in,
                     DType in_dtype);

// By PyTorch's type promotion: the counterparts of kernels/portable/promotion.h.

Error run_unary(KernelContext& context, const Tensor& self, Tensor& out, Op op, const Scalars& scalars = {});
Error run_unary_number(KernelContext& context, const Tensor& self, Tensor& out, Op op);
Error run_unary_floating(KernelContext& context, const Tensor& self, Tensor& out, Op op, const Scalars& scalars = {});
Error run_unary_predicate(KernelContext& context, const Tensor& self, Tensor& out, Op op);
Error run_as(KernelContext& context, const Tensor& self, Tensor& out, DType common, Op op, const Scalars& scalars = {});
Error run_binary(KernelContext& context, const Tensor& a, const Tensor& b, Tensor& out, DType common, Op op,
                 const Scalars& scalars = {});
Error run_binary_scalar(KernelContext& context, const Tensor& tensor, const EValue& scalar, Tensor& out, DType common,
                        Op op, bool scalar_first = false, const Scalars& scalars = {});
Error run_compare(KernelContext& context, const Tensor& a, const Tensor& b, Tensor& out, Op op);
Error run_compare_scalar(KernelContext& context, const Tensor& a, const EValue& scalar, Tensor& out, Op op);

}  // namespace berth::cuda
