// Elements in memory and in registers, for code that is compiled for the device by nvcc and for the host by any
// compiler.
//
// As in kernels/portable/convert.h, everything is computed in three types, float, double and int64_t; elements are
// loaded to one of them and stored from one, with the dtype decided while the kernel runs: all threads of a launch take
// the same way, so that the decision is free beside the memory access, and a kernel is compiled three times and not
// once a pair of dtypes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/dtype.h"
#include "base/half.h"
#include "base/host_device.h"

#if defined(__CUDACC__)
#include <cuda_fp16.h>
#endif

namespace berth::cuda {

BERTH_HD inline float float_of_half(uint16_t bits) {
#if defined(__CUDA_ARCH__)
  return __half2float(__ushort_as_half(bits));
#else
  return internal::half_to_float(bits);
#endif
}

BERTH_HD inline uint16_t half_of_float(float x) {
#if defined(__CUDA_ARCH__)
  return __half_as_ushort(__float2half_rn(x));
#else
  return internal::half_from_float(x);
#endif
}

BERTH_HD inline float float_of_bfloat16(uint16_t bits) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(static_cast<uint32_t>(bits) << 16);
#else
  return internal::float_of(static_cast<uint32_t>(bits) << 16);
#endif
}

// Nearest, ties to even; a NaN stays one.
BERTH_HD inline uint16_t bfloat16_of_float(float x) {
#if defined(__CUDA_ARCH__)
  const uint32_t bits = __float_as_uint(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
#else
  return internal::bfloat16_from_float(x);
#endif
}

/// Towards zero; what does not fit gives the smallest value, as kernels/portable/convert.cc has it.
template <typename Int, typename Real>
BERTH_HD inline Int truncate_to(Real x) {
  constexpr Real kLimit = static_cast<Real>(sizeof(Int) == 8 ? 9223372036854775808.0 : 2147483648.0);
  constexpr Int kSmallest = static_cast<Int>(Int{1} << (sizeof(Int) * 8 - 1));
  return x >= -kLimit && x < kLimit ? static_cast<Int>(x) : kSmallest;
}

/// A number as T, one of the three types to compute in.
template <typename T, typename From>
BERTH_HD inline T computed(From x) {
  if constexpr (std::is_same_v<T, int64_t> && std::is_floating_point_v<From>) {
    return truncate_to<int64_t>(x);
  } else {
    return static_cast<T>(x);
  }
}

/// Element `index` of `base`. REQUIRES: a real dtype.
template <typename T>
BERTH_HD inline T load(const void* base, DType dtype, int64_t index) {
  switch (dtype) {
    case DType::kF32: return computed<T>(static_cast<const float*>(base)[index]);
    case DType::kF16: return computed<T>(float_of_half(static_cast<const uint16_t*>(base)[index]));
    case DType::kBF16: return computed<T>(float_of_bfloat16(static_cast<const uint16_t*>(base)[index]));
    case DType::kF64: return computed<T>(static_cast<const double*>(base)[index]);
    case DType::kI64: return computed<T>(static_cast<const int64_t*>(base)[index]);
    case DType::kI32: return computed<T>(static_cast<const int32_t*>(base)[index]);
    case DType::kI16: return computed<T>(static_cast<const int16_t*>(base)[index]);
    case DType::kI8: return computed<T>(static_cast<const int8_t*>(base)[index]);
    case DType::kU8: return computed<T>(static_cast<const uint8_t*>(base)[index]);
    case DType::kU16: return computed<T>(static_cast<const uint16_t*>(base)[index]);
    case DType::kU32: return computed<T>(static_cast<const uint32_t*>(base)[index]);
    case DType::kU64: return computed<T>(static_cast<const uint64_t*>(base)[index]);
    case DType::kBool: return static_cast<T>(static_cast<const uint8_t*>(base)[index] != 0);
    default: return T(0);
  }
}

/// A number on its way to a whole dtype of `wide` (8 bytes, and u32) or fewer bytes, whose low bits then count.
template <typename T>
BERTH_HD inline int64_t whole_of(T x, bool wide) {
  if constexpr (std::is_same_v<T, int64_t>) {
    return x;
  } else {
    return wide ? truncate_to<int64_t>(x) : truncate_to<int32_t>(x);
  }
}

template <typename T>
BERTH_HD inline uint64_t unsigned_of(T x) {
  if constexpr (std::is_same_v<T, int64_t>) {
    return static_cast<uint64_t>(x);
  } else {
    constexpr T kHalf = static_cast<T>(9223372036854775808.0);
    if (x < kHalf) return static_cast<uint64_t>(truncate_to<int64_t>(x));
    return static_cast<uint64_t>(truncate_to<int64_t>(x - kHalf)) ^ (uint64_t{1} << 63);
  }
}

/// Stores `x` as element `index` of `base`. REQUIRES: a real dtype.
template <typename T>
BERTH_HD inline void store(void* base, DType dtype, int64_t index, T x) {
  switch (dtype) {
    case DType::kF32: static_cast<float*>(base)[index] = static_cast<float>(x); return;
    case DType::kF16: static_cast<uint16_t*>(base)[index] = half_of_float(static_cast<float>(x)); return;
    case DType::kBF16: static_cast<uint16_t*>(base)[index] = bfloat16_of_float(static_cast<float>(x)); return;
    case DType::kF64: static_cast<double*>(base)[index] = static_cast<double>(x); return;
    case DType::kI64: static_cast<int64_t*>(base)[index] = whole_of(x, true); return;
    case DType::kI32: static_cast<int32_t*>(base)[index] = static_cast<int32_t>(whole_of(x, false)); return;
    case DType::kI16: static_cast<int16_t*>(base)[index] = static_cast<int16_t>(whole_of(x, false)); return;
    case DType::kI8: static_cast<int8_t*>(base)[index] = static_cast<int8_t>(whole_of(x, false)); return;
    case DType::kU8: static_cast<uint8_t*>(base)[index] = static_cast<uint8_t>(whole_of(x, false)); return;
    case DType::kU16: static_cast<uint16_t*>(base)[index] = static_cast<uint16_t>(whole_of(x, false)); return;
    case DType::kU32: static_cast<uint32_t*>(base)[index] = static_cast<uint32_t>(whole_of(x, true)); return;
    case DType::kU64: static_cast<uint64_t*>(base)[index] = unsigned_of(x); return;
    case DType::kBool: static_cast<uint8_t*>(base)[index] = x != T(0) ? 1 : 0; return;
    default: return;
  }
}

/// `x` rounded, or wrapped around, to what fits in `common`, when that is narrower than T and of its kind.
template <typename T>
BERTH_HD inline T rounded(T x, DType common) {
  if constexpr (std::is_same_v<T, float>) {
    if (common == DType::kF16) return float_of_half(half_of_float(x));
    if (common == DType::kBF16) return float_of_bfloat16(bfloat16_of_float(x));
  } else if constexpr (std::is_same_v<T, int64_t>) {
    switch (common) {
      case DType::kI8: return static_cast<int8_t>(x);
      case DType::kU8: return static_cast<uint8_t>(x);
      case DType::kI16: return static_cast<int16_t>(x);
      case DType::kU16: return static_cast<uint16_t>(x);
      case DType::kI32: return static_cast<int32_t>(x);
      case DType::kU32: return static_cast<uint32_t>(x);
      case DType::kBool: return x != 0 ? 1 : 0;
      default: break;
    }
  }
  return x;
}

/// What rounded() leaves as it is.
constexpr DType kUnrounded = DType::kF64;

/// Moves element `from_index` of `from` to `to_index` of `to`, whatever its dtype.
BERTH_HD inline void move_element(const void* from, int64_t from_index, void* to, int64_t to_index, int bytes) {
  switch (bytes) {
    case 1: static_cast<uint8_t*>(to)[to_index] = static_cast<const uint8_t*>(from)[from_index]; return;
    case 2: static_cast<uint16_t*>(to)[to_index] = static_cast<const uint16_t*>(from)[from_index]; return;
    case 4: static_cast<uint32_t*>(to)[to_index] = static_cast<const uint32_t*>(from)[from_index]; return;
    case 8: static_cast<uint64_t*>(to)[to_index] = static_cast<const uint64_t*>(from)[from_index]; return;
    default: {
      // 16 bytes: two words, so that 8 bytes of alignment are enough.
      static_cast<uint64_t*>(to)[2 * to_index] = static_cast<const uint64_t*>(from)[2 * from_index];
      static_cast<uint64_t*>(to)[2 * to_index + 1] = static_cast<const uint64_t*>(from)[2 * from_index + 1];
      return;
    }
  }
}

/// Element `index` of `to` becomes all zero bits, which is 0 in every dtype.
BERTH_HD inline void zero_element(void* to, int64_t index, int bytes) {
  for (int i = 0; i < bytes; ++i) static_cast<uint8_t*>(to)[index * bytes + i] = 0;
}

}  // namespace berth::cuda
