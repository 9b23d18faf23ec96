// Element-wise kernels by PyTorch's type promotion: what an operation is computed in, given its arguments' dtypes.
//
// Each function resizes the output, checks, and runs the operator's loops through elementwise.h.
#pragma once

#include "kernels/portable/elementwise.h"

namespace berth::portable {

/// The dtype of `tensor op scalar`: the tensor's, unless the scalar is of a higher category (bool, integer, floating);
/// then i64 or f32.
DType promote_scalar(DType tensor, const EValue& scalar);

/// f32 for integers and bool, for operators whose result is floating.
DType promote_to_floating(DType dtype);

/// One scalar as an element of type `compute`, rounded or wrapped to `common` first.
struct ScalarElement {
  alignas(8) unsigned char bytes[8];
  ScalarElement(const EValue& scalar, DType common, DType compute);
};

/// Output dtype and loop type are the input's.
Error run_unary(KernelContext& context, const Tensor& self, Tensor& out, const Loops& loops,
                const Scalars& scalars = {});

/// The same for operators that refuse bool.
Error run_unary_number(KernelContext& context, const Tensor& self, Tensor& out, const Loops& loops,
                       const Scalars& scalars = {});

/// Integers and bool are computed in f32.
Error run_unary_floating(KernelContext& context, const Tensor& self, Tensor& out, const Loops& loops,
                         const Scalars& scalars = {});

/// The loops write Bool; the result is bool.
Error run_unary_predicate(KernelContext& context, const Tensor& self, Tensor& out, const Loops& loops);

/// Two tensors, computed in `common`; the loops write what they read.
Error run_binary(KernelContext& context, const Tensor& a, const Tensor& b, Tensor& out, DType common,
                 const Loops& loops, const Scalars& scalars = {});

/// Tensor and scalar, computed in `common`. `scalar_first` gives the scalar to the loops as their first input.
Error run_binary_scalar(KernelContext& context, const Tensor& tensor, const EValue& scalar, Tensor& out, DType common,
                        const Loops& loops, bool scalar_first = false, const Scalars& scalars = {});

/// Two tensors or a tensor and a scalar in their promoted type; the loops write Bool; the result is bool.
Error run_compare(KernelContext& context, const Tensor& a, const Tensor& b, Tensor& out, const Loops& loops);
Error run_compare_scalar(KernelContext& context, const Tensor& a, const EValue& scalar, Tensor& out,
                         const Loops& loops);

}  // namespace berth::portable
