// A number as the bytes of an element, and what is filled with it. Shared by every set of kernels.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "kernels/portable/layout_arguments.h"
#include "runtime/arguments.h"

namespace berth::portable {

/// One element of any dtype.
struct Element {
  alignas(16) char bytes[16] = {};
};

/// Converts a Scalar argument to an element of `dtype`, by PyTorch's rules: a fraction is cut off for integers;
/// anything but 0 is true; a complex element gets the number as its real part. InvalidArgument when the number does not
/// fit (infinities and NaN fit all floating types, no integer; a negative integer, though no negative fraction, fits an
/// unsigned type when its magnitude does), or when `dtype` is a quantised or bit type.
Error read_element(KernelContext& context, const EValue& scalar, DType dtype, Element* out);

/// How a set of kernels stores `value`, of out's dtype, in every element of `out`, which gets `sizes`.
using Fill = Error (*)(KernelContext& context, const Element& value, const Sizes& sizes, Tensor& out);

// Every element the same number, with their arguments as in the operator table. A size is a list of sizes.

Error full(KernelContext& context, IntList size, const EValue& scalar, Tensor& out, Fill fill);
Error full_like(KernelContext& context, const Tensor& self, const EValue& scalar, Tensor& out, Fill fill);
Error scalar_tensor(KernelContext& context, const EValue& scalar, Tensor& out, Fill fill);
/// `self` and `out` have the same dtype.
Error fill_scalar(KernelContext& context, const Tensor& self, const EValue& scalar, Tensor& out, Fill fill);

/// fill.Tensor: `self` and `out` have the same dtype, and `value` is one element with memory.
Error check_fill(KernelContext& context, const Tensor& self, const Tensor& value, const Tensor& out);

}  // namespace berth::portable
