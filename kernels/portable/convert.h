// Elements from one dtype to another. Kernels compute in three types: f32 (for f16, bf16 and f32), f64, and i64 (for
// all integers and bool); everything else is loaded to and stored from one of these, so that an operator is compiled
// three times and not once a pair of dtypes.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace berth::portable {

/// f32, f64 or i64: the type to compute in for elements of `dtype`.
DType compute_dtype(DType dtype);

using berth::is_real;

/// Converts `n` elements. Floating to integer truncates towards zero; what does not fit gives the smallest value of
/// i32 or i64, or its low bits for narrower and unsigned types, as x86 has it. Integers wrap. Anything but 0 is true.
/// Narrow floats are rounded from f32, without saturation (base/narrow.h).
/// REQUIRES: is_real or is_narrow of both; `source` and `target` are the same memory (and then the same element size)
/// or apart.
void convert_elements(DType from, const void* source, DType to, void* target, int64_t n);

/// PyTorch's rule for writing a result into an out tensor: no floating to integer, nothing but bool to bool.
constexpr bool can_cast(DType from, DType to) {
  if (is_floating(from) && !is_floating(to)) return false;
  return from == DType::kBool || to != DType::kBool;
}

}  // namespace berth::portable
