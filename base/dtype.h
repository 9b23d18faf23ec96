// DType: the type of a tensor's elements. And the most dimensions that a tensor may have.
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth {

/// In models, in program files and when they run.
constexpr int kMaxRank = 16;

/// The numbers stand in program files (ExecuTorch's and ATen's `ScalarType`); ExecuTorch knows those up to 29. Kernels
/// compute with none of the quantised and bit types, and only move and convert narrow ones (is_narrow).
enum class DType : int8_t {
  kU8 = 0,
  kI8 = 1,
  kI16 = 2,
  kI32 = 3,
  kI64 = 4,
  kF16 = 5,
  kF32 = 6,
  kF64 = 7,
  kComplex32 = 8,
  kComplex64 = 9,
  kComplex128 = 10,
  kBool = 11,
  kQInt8 = 12,
  kQUInt8 = 13,
  kQInt32 = 14,
  kBF16 = 15,
  kQUInt4x2 = 16,
  kQUInt2x4 = 17,
  kBits1x8 = 18,
  kBits2x4 = 19,
  kBits4x2 = 20,
  kBits8 = 21,
  kBits16 = 22,
  kF8E5M2 = 23,
  kF8E4M3 = 24,
  kF8E5M2Fnuz = 25,
  kF8E4M3Fnuz = 26,
  kU16 = 27,
  kU32 = 28,
  kU64 = 29,
  // ATen's numbers, which ExecuTorch's files do not have. Of e2m1 ATen knows pairs alone, so that its number is our
  // own.
  kU2 = 31,
  kU4 = 33,
  kI2 = 38,
  kI4 = 40,
  kF8E8M0 = 44,
  kF4E2M1 = 100,
};

/// No valid number is larger.
constexpr int kMaxDTypeNumber = 100;

/// Whether `number` names an element type that a file may hold.
constexpr bool is_valid_dtype(int number) {
  return (number >= 0 && number <= 29) || number == 31 || number == 33 || number == 38 || number == 40 ||
         number == 44 || number == kMaxDTypeNumber;
}

/// Bytes of one element; those of 4 and 2 bits take one each. REQUIRES: is_valid_dtype.
size_t element_size(DType dtype);

/// The text form used in IR and messages: "f32", "i64", "bool", "bf16"… Never null for a valid type.
const char* to_string(DType dtype);

/// The inverse of to_string. False when `text` (of `length` characters) names no type.
bool parse_dtype(const char* text, size_t length, DType* out);

/// f16, bf16, f32, f64.
constexpr bool is_floating(DType t) {
  return t == DType::kF16 || t == DType::kBF16 || t == DType::kF32 || t == DType::kF64;
}
/// The integers of 8 to 64 bits, signed and unsigned; not bool.
constexpr bool is_integer(DType t) {
  return (t >= DType::kU8 && t <= DType::kI64) || t == DType::kU16 || t == DType::kU32 || t == DType::kU64;
}
/// Floating types, integers and bool: those whose elements are one number each.
constexpr bool is_real(DType t) { return is_floating(t) || is_integer(t) || t == DType::kBool; }
/// The integers of 8 bits.
constexpr bool is_byte(DType t) { return t == DType::kU8 || t == DType::kI8; }
/// The floats of 16 bits.
constexpr bool has_16_bits(DType t) { return t == DType::kF16 || t == DType::kBF16; }
/// The integers of 2 and 4 bits.
constexpr bool is_narrow_integer(DType t) {
  return t == DType::kU2 || t == DType::kU4 || t == DType::kI2 || t == DType::kI4;
}
/// The floats of 8 and 4 bits.
constexpr bool is_narrow_float(DType t) {
  return (t >= DType::kF8E5M2 && t <= DType::kF8E4M3Fnuz) || t == DType::kF8E8M0 || t == DType::kF4E2M1;
}
/// Types in which numbers are kept and not computed with (base/narrow.h); none of them is_real. One element a byte.
constexpr bool is_narrow(DType t) { return is_narrow_integer(t) || is_narrow_float(t); }
constexpr bool is_complex(DType t) { return t >= DType::kComplex32 && t <= DType::kComplex128; }

/// The type of a result that combines tensors of both types, by PyTorch's rules. For unsigned types wider than a
/// byte, which PyTorch does not promote, and for the types that no kernel takes, the result is `a` when both are
/// equal and f32 otherwise.
DType promote_types(DType a, DType b);

/// The type in which a scalar of type `number` is combined with a tensor of type `tensor`, by PyTorch's rules, which
/// look only at the scalar's kind: the tensor's type, unless the scalar's kind is higher; then i64 for integers, f32
/// for real numbers, and c64 for complex numbers (c128 with f64).
DType number_type(DType number, DType tensor);

}  // namespace berth
