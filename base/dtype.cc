#include "base/dtype.h"

#include <cstring>

#include "base/check.h"

namespace berth {
namespace {

struct Row {
  const char* name;
  uint8_t bytes;
};

// Indexed by the number of the type.
constexpr Row kLowRows[] = {
    {"u8", 1},      {"i8", 1},         {"i16", 2},        {"i32", 4},   {"i64", 8},    {"f16", 2},
    {"f32", 4},     {"f64", 8},        {"c32", 4},        {"c64", 8},   {"c128", 16},  {"bool", 1},
    {"qi8", 1},     {"qu8", 1},        {"qi32", 4},       {"bf16", 2},  {"qu4x2", 1},  {"qu2x4", 1},
    {"bits1x8", 1}, {"bits2x4", 1},    {"bits4x2", 1},    {"bits8", 1}, {"bits16", 2}, {"f8e5m2", 1},
    {"f8e4m3", 1},  {"f8e5m2fnuz", 1}, {"f8e4m3fnuz", 1}, {"u16", 2},   {"u32", 4},    {"u64", 8},
};

struct HighRow {
  DType dtype;
  Row row;
};

// The types whose numbers lie behind a gap.
constexpr HighRow kHighRows[] = {
    {DType::kU2, {"u2", 1}}, {DType::kU4, {"u4", 1}},         {DType::kI2, {"i2", 1}},
    {DType::kI4, {"i4", 1}}, {DType::kF8E8M0, {"f8e8m0", 1}}, {DType::kF4E2M1, {"f4e2m1", 1}},
};

const Row& row(DType dtype) {
  const int number = static_cast<int>(dtype);
  BERTH_CHECK(is_valid_dtype(number));
  if (number < static_cast<int>(sizeof kLowRows / sizeof kLowRows[0])) return kLowRows[number];
  const HighRow* high = kHighRows;
  while (high->dtype != dtype) ++high;
  return high->row;
}

int integer_rank(DType t) {
  switch (t) {
    case DType::kI8: return 1;
    case DType::kI16: return 2;
    case DType::kI32: return 3;
    default: return 4;
  }
}

DType promote_floating(DType a, DType b) {
  if (a == DType::kF64 || b == DType::kF64) return DType::kF64;
  return DType::kF32;  // f32 with anything, and f16 with bf16
}

// Kinds of numbers, from the lowest.
enum class Kind { kTruth, kWhole, kReal, kComplex };

Kind kind_of(DType t) {
  if (is_complex(t)) return Kind::kComplex;
  if (is_floating(t)) return Kind::kReal;
  return t == DType::kBool ? Kind::kTruth : Kind::kWhole;
}

}  // namespace

size_t element_size(DType dtype) { return row(dtype).bytes; }

const char* to_string(DType dtype) { return row(dtype).name; }

bool parse_dtype(const char* text, size_t length, DType* out) {
  for (int i = 0; i <= kMaxDTypeNumber; ++i) {
    if (!is_valid_dtype(i)) continue;
    const char* name = to_string(static_cast<DType>(i));
    if (std::strlen(name) == length && std::memcmp(name, text, length) == 0) {
      *out = static_cast<DType>(i);
      return true;
    }
  }
  return false;
}

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (is_complex(a) || is_complex(b)) {
    if (a == DType::kComplex128 || b == DType::kComplex128 || a == DType::kF64 || b == DType::kF64) {
      return DType::kComplex128;
    }
    return DType::kComplex64;
  }
  if (is_floating(a) && is_floating(b)) return promote_floating(a, b);
  const bool a_whole = is_integer(a) || a == DType::kBool;
  const bool b_whole = is_integer(b) || b == DType::kBool;
  if (is_floating(a) && b_whole) return a;
  if (a_whole && is_floating(b)) return b;
  if (a == DType::kBool && b_whole) return b;
  if (a_whole && b == DType::kBool) return a;
  const bool a_small = a >= DType::kU8 && a <= DType::kI64;
  const bool b_small = b >= DType::kU8 && b <= DType::kI64;
  if (!a_small || !b_small) return DType::kF32;
  if (a == DType::kU8) return b == DType::kI8 ? DType::kI16 : b;
  if (b == DType::kU8) return a == DType::kI8 ? DType::kI16 : a;
  return integer_rank(a) >= integer_rank(b) ? a : b;
}

DType number_type(DType number, DType tensor) {
  const Kind kind = kind_of(number);
  if (kind <= kind_of(tensor)) return tensor;
  switch (kind) {
    case Kind::kComplex: return promote_types(DType::kComplex64, tensor);
    case Kind::kReal: return DType::kF32;
    default: return DType::kI64;
  }
}

}  // namespace berth
