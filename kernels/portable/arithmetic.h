// The division of real numbers, which rounding ones end in without a rounding mode.
#pragma once

#include "kernels/portable/portable.h"

namespace berth::portable {

/// aten::div and aten::div.Scalar: the result is floating, or complex where the tensors are.
Error divide(KernelContext& context, const Tensor& self, const Tensor& other, Tensor& out);
Error divide_by_scalar(KernelContext& context, const Tensor& self, const EValue& other, Tensor& out);

}  // namespace berth::portable
