// Narrow elements: floats of 8 and 4 bits and integers of 4 and 2 bits, one a byte, as they lie in tensors and files.
// Kernels compute in f32 or i64; these functions bring elements there and back.
//
//   f8e4m3      4 bits of exponent, 3 of mantissa; no infinity, NaN where all of both are set; largest 448
//   f8e5m2      as IEEE 754 would have it; largest 57344
//   f8e4m3fnuz  no infinity, no negative zero, which is the code of NaN; largest 240
//   f8e5m2fnuz  the same; largest 57344
//   f8e8m0      powers of two alone, 2^-127 to 2^127, and NaN; no zero, no sign
//   f4e2m1      0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives; in the low half of the byte
//   i4 u4 i2 u2 in the low bits of the byte; the others repeat the sign. On reading the others have no say.
//
// Sources: the OCP's specifications of 8-bit floating point (OFP8) and of microscaling (MX), ONNX's pages on float 8
// and float 4, and ATen's conversions, whose results these are where ATen has them.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace berth {

/// The numbers of `n` elements, which is exact. REQUIRES: is_narrow_float(dtype).
void decode_narrow(DType dtype, const uint8_t* codes, float* numbers, int64_t n);

/// The nearest element to each number, ties to even. What is larger than the largest becomes infinity where the type
/// has one, else NaN; in f4e2m1, which has neither, the largest, and NaN becomes -0. f8e8m0 takes magnitudes: halves
/// round up, 0 becomes 2^-127 and what lies between that and 2^-126 the larger. To saturate, clamp first. REQUIRES:
/// is_narrow_float(dtype).
void encode_narrow(DType dtype, const float* numbers, uint8_t* codes, int64_t n);

/// The same for integers. Storing keeps the low bits: 9 becomes -7 in i4. REQUIRES: is_narrow_integer(dtype).
void decode_narrow(DType dtype, const uint8_t* codes, int64_t* numbers, int64_t n);
void encode_narrow(DType dtype, const int64_t* numbers, uint8_t* codes, int64_t n);

/// The largest finite number of a type, such as 448 of f8e4m3. REQUIRES: is_narrow_float(dtype).
float largest_narrow(DType dtype);

}  // namespace berth
