// A number as the bytes of an element.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "runtime/kernel.h"

namespace berth::portable {

/// One element of any dtype.
struct Element {
  alignas(16) char bytes[16] = {};
};

/// Converts a Scalar argument to an element of `dtype`, by PyTorch's rules: a fraction is cut off for integers;
/// anything but 0 is true; a complex element gets the number as its real part. InvalidArgument when the number does not
/// fit (infinities and NaN fit all floating types, no integer; a negative integer, though no negative fraction, fits an
/// unsigned type when its magnitude does), or when `dtype` is a quantised, bit or 8-bit floating type.
Error read_element(KernelContext& context, const EValue& scalar, DType dtype, Element* out);

}  // namespace berth::portable
