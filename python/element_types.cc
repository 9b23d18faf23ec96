#include "python/element_types.h"

#include <iterator>
#include <utility>

#include "python/errors.h"

namespace nb = nanobind;

namespace berth::python {
namespace {

constexpr uint8_t code(nb::dlpack::dtype_code code) { return static_cast<uint8_t>(code); }

using Code = nb::dlpack::dtype_code;
constexpr ElementType kTypes[] = {
    // An element of 4 or 2 bits is a byte, as NumPy has it. Of two rows with one code, the last is what an array has.
    {DType::kI4, "int8", code(Code::Int)},
    {DType::kI2, "int8", code(Code::Int)},
    {DType::kU4, "uint8", code(Code::UInt)},
    {DType::kU2, "uint8", code(Code::UInt)},
    {DType::kF32, "float32", code(Code::Float)},
    {DType::kF64, "float64", code(Code::Float)},
    {DType::kF16, "float16", code(Code::Float)},
    {DType::kI64, "int64", code(Code::Int)},
    {DType::kI32, "int32", code(Code::Int)},
    {DType::kI16, "int16", code(Code::Int)},
    {DType::kI8, "int8", code(Code::Int)},
    {DType::kU8, "uint8", code(Code::UInt)},
    {DType::kU16, "uint16", code(Code::UInt)},
    {DType::kU32, "uint32", code(Code::UInt)},
    {DType::kU64, "uint64", code(Code::UInt)},
    {DType::kBool, "bool", code(Code::Bool)},
    {DType::kComplex64, "complex64", code(Code::Complex)},
    {DType::kComplex128, "complex128", code(Code::Complex)},
    {DType::kComplex32, nullptr, code(Code::Complex)},
    {DType::kBF16, nullptr, code(Code::Bfloat)},
    {DType::kF8E4M3, nullptr, code(Code::Float8_E4M3FN)},
    {DType::kF8E5M2, nullptr, code(Code::Float8_E5M2)},
    {DType::kF8E4M3Fnuz, nullptr, code(Code::Float8_E4M3FNUZ)},
    {DType::kF8E5M2Fnuz, nullptr, code(Code::Float8_E5M2FNUZ)},
    {DType::kF8E8M0, nullptr, code(Code::Float8_E8M0FNU)},
    {DType::kF4E2M1, nullptr, code(Code::Float4_E2M1FN)},
};

// The names of ml_dtypes' types.
constexpr std::pair<const char*, DType> kExtensions[] = {
    {"bfloat16", DType::kBF16},
    {"float8_e4m3fn", DType::kF8E4M3},
    {"float8_e5m2", DType::kF8E5M2},
    {"float8_e4m3fnuz", DType::kF8E4M3Fnuz},
    {"float8_e5m2fnuz", DType::kF8E5M2Fnuz},
    {"float8_e8m0fnu", DType::kF8E8M0},
    {"float4_e2m1fn", DType::kF4E2M1},
    {"int4", DType::kI4},
    {"int2", DType::kI2},
    {"uint4", DType::kU4},
    {"uint2", DType::kU2},
};

}  // namespace

const ElementType* find_type(DType dtype) {
  for (const ElementType& type : kTypes) {
    if (type.dtype == dtype) return &type;
  }
  return nullptr;
}

const ElementType* find_type(nb::dlpack::dtype type) {
  const ElementType* found = nullptr;
  for (const ElementType& known : kTypes) {
    const bool same = known.code == type.code && element_size(known.dtype) * 8 == type.bits && type.lanes == 1;
    if (same) found = &known;
  }
  return found;
}

nb::dlpack::dtype dlpack_type(DType dtype) {
  const ElementType* type = find_type(dtype);
  if (type == nullptr) {
    raise(Error::kNotSupported, std::string("element type ") + to_string(dtype),
          "has no form in NumPy or DLPack, so Python cannot see it; cast it in the model");
  }
  return {type->code, static_cast<uint8_t>(element_size(dtype) * 8), 1};
}

nb::handle numpy_dtype(const ElementType& type) {
  static nb::object* const made = new nb::object[std::size(kTypes)];
  nb::object& dtype = made[&type - kTypes];
  if (!dtype.is_valid()) dtype = nb::module_::import_("numpy").attr("dtype")(type.numpy);
  return dtype;
}

bool parse_format(const char* format, Py_ssize_t item, DType* out) {
  if (format == nullptr) {
    *out = DType::kU8;
    return item == 1;
  }
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  const std::string letters = format;
  const auto sized = [&](std::initializer_list<DType> types) {
    for (const DType type : types) {
      *out = type;
      if (element_size(type) == static_cast<size_t>(item)) return true;
    }
    return false;
  };
  if (letters == "Zf" || letters == "Zd") return sized({DType::kComplex64, DType::kComplex128});
  if (letters.size() != 1) return false;
  switch (letters[0]) {
    case '?': return sized({DType::kBool});
    case 'e':
    case 'f':
    case 'd': return sized({DType::kF16, DType::kF32, DType::kF64});
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q': return sized({DType::kI8, DType::kI16, DType::kI32, DType::kI64});
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q': return sized({DType::kU8, DType::kU16, DType::kU32, DType::kU64});
    default: return false;
  }
}

bool parse_extension_name(const std::string& name, DType* out) {
  for (const auto& [known, dtype] : kExtensions) {
    *out = dtype;
    if (name == known) return true;
  }
  return false;
}

const char* extension_name(DType dtype) {
  for (const auto& [name, known] : kExtensions) {
    if (known == dtype) return name;
  }
  return nullptr;
}

std::string type_text(DType dtype, Span<const int64_t> sizes) {
  std::string text;
  for (const int64_t size : sizes) text += (text.empty() ? "" : "x") + std::to_string(size);
  return std::string(to_string(dtype)) + "[" + text + "]";
}

DType parse_dtype_or_raise(const std::string& text) {
  DType dtype = DType::kF32;
  if (!parse_dtype(text.data(), text.size(), &dtype)) {
    raise(Error::kInvalidArgument, "element type '" + text + "'", "is not one; they are written f32, i64, bool");
  }
  return dtype;
}

}  // namespace berth::python
