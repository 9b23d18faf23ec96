// From a dtype at run time to a type at compile time.
//
//   return dispatch_real(context, self.dtype(), [&](auto tag) {
//     using T = typename decltype(tag)::type;
//     …
//     return Error::kOk;
//   });
//
// Each use instantiates its body once a type: keep bodies small, or work on one of the few compute types
// (kernels/portable/convert.h) or on bytes (dispatch_bytes), which need far fewer.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "base/half.h"
#include "runtime/kernel.h"

namespace berth::portable {

/// A bool in a tensor. A file may hold any byte; everything but 0 is true.
struct Bool {
  uint8_t byte = 0;
  Bool() = default;
  Bool(bool x) : byte(x ? 1 : 0) {}
  operator bool() const { return byte != 0; }
};

template <typename T>
struct TypeTag {
  using type = T;
};

inline Error unsupported_dtype(KernelContext& context) {
  return context.fail(Error::kInvalidArgument, "this operator does not take tensors of this dtype");
}

/// `f(TypeTag<T>)` for u8 i8 i16 i32 i64 u16 u32 u64.
template <typename F>
Error dispatch_integer(KernelContext& context, DType dtype, F&& f) {
  switch (dtype) {
    case DType::kU8: return f(TypeTag<uint8_t>());
    case DType::kI8: return f(TypeTag<int8_t>());
    case DType::kI16: return f(TypeTag<int16_t>());
    case DType::kI32: return f(TypeTag<int32_t>());
    case DType::kI64: return f(TypeTag<int64_t>());
    case DType::kU16: return f(TypeTag<uint16_t>());
    case DType::kU32: return f(TypeTag<uint32_t>());
    case DType::kU64: return f(TypeTag<uint64_t>());
    default: return unsupported_dtype(context);
  }
}

/// `f(TypeTag<T>)` for f16 bf16 f32 f64 (Half, BFloat16, float, double).
template <typename F>
Error dispatch_floating(KernelContext& context, DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF16: return f(TypeTag<Half>());
    case DType::kBF16: return f(TypeTag<BFloat16>());
    case DType::kF32: return f(TypeTag<float>());
    case DType::kF64: return f(TypeTag<double>());
    default: return unsupported_dtype(context);
  }
}

/// `f(TypeTag<T>)` for every integer and floating type and bool (Bool).
template <typename F>
Error dispatch_real(KernelContext& context, DType dtype, F&& f) {
  if (dtype == DType::kBool) return f(TypeTag<Bool>());
  if (is_floating(dtype)) return dispatch_floating(context, dtype, f);
  return dispatch_integer(context, dtype, f);
}

/// `f(TypeTag<T>)` with an unsigned integer of the element's size, for kernels that only move elements: u8 u16 u32 u64.
template <typename F>
Error dispatch_bytes(KernelContext& context, DType dtype, F&& f) {
  switch (element_size(dtype)) {
    case 1: return f(TypeTag<uint8_t>());
    case 2: return f(TypeTag<uint16_t>());
    case 4: return f(TypeTag<uint32_t>());
    case 8: return f(TypeTag<uint64_t>());
    default: return unsupported_dtype(context);
  }
}

/// `f(TypeTag<I>)` for the types of an index tensor: i32 and i64.
template <typename F>
Error dispatch_index(KernelContext& context, DType dtype, F&& f) {
  if (dtype == DType::kI64) return f(TypeTag<int64_t>());
  if (dtype == DType::kI32) return f(TypeTag<int32_t>());
  return context.fail(Error::kInvalidArgument, "an index tensor must be i32 or i64");
}

}  // namespace berth::portable
