#include "compiler/import/onnx/known.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/half.h"
#include "compiler/ir/builder.h"

namespace berth::onnx {
namespace {

template <typename T>
T load(const uint8_t* bytes) {
  T x;
  std::memcpy(&x, bytes, sizeof x);
  return x;
}

Number load_element(DType dtype, const uint8_t* bytes) {
  switch (dtype) {
    case DType::kBool: return {ir::Dim(load<uint8_t>(bytes) != 0), 0};
    case DType::kU8: return {ir::Dim(load<uint8_t>(bytes)), 0};
    case DType::kI8: return {ir::Dim(load<int8_t>(bytes)), 0};
    case DType::kU16: return {ir::Dim(load<uint16_t>(bytes)), 0};
    case DType::kI16: return {ir::Dim(load<int16_t>(bytes)), 0};
    case DType::kU32: return {ir::Dim(load<uint32_t>(bytes)), 0};
    case DType::kI32: return {ir::Dim(load<int32_t>(bytes)), 0};
    case DType::kF16: return {{}, internal::half_to_float(load<uint16_t>(bytes))};
    case DType::kBF16: return {{}, internal::float_of(static_cast<uint32_t>(load<uint16_t>(bytes)) << 16)};
    case DType::kF32: return {{}, load<float>(bytes)};
    case DType::kF64: return {{}, load<double>(bytes)};
    default: return {ir::Dim(load<int64_t>(bytes)), 0};
  }
}

void store_element(DType dtype, const Number& number, uint8_t* out) {
  if (is_floating(dtype)) {
    const std::vector<uint8_t> bytes = ir::element_bytes(dtype, number.real);
    std::memcpy(out, bytes.data(), bytes.size());
  } else {
    std::memcpy(out, &number.whole.value, element_size(dtype));  // little-endian
  }
}

}  // namespace

bool Known::is_constant() const {
  return std::all_of(elements.begin(), elements.end(), [](const Number& n) { return n.whole.is_constant(); });
}

bool may_be_known(DType dtype, int64_t count) {
  if (count < 0) return false;
  if (is_floating(dtype)) return static_cast<size_t>(count) <= kMaxKnownReals;
  return (is_integer(dtype) || dtype == DType::kBool) && static_cast<size_t>(count) <= kMaxKnownIntegers;
}

std::optional<Known> known_of(const ir::Constant& constant) {
  const DType dtype = constant.type.dtype;
  const size_t size = element_size(dtype);
  const size_t count = constant.blob.size() / size;
  if (!may_be_known(dtype, static_cast<int64_t>(count)) || dtype == DType::kU64) return std::nullopt;
  Known known;
  known.dtype = dtype;
  for (ir::Dim d : constant.type.shape) known.shape.push_back(d.value);
  const std::vector<uint8_t> bytes = constant.blob.to_vector();
  for (size_t i = 0; i < count; ++i) known.elements.push_back(load_element(dtype, bytes.data() + i * size));
  return known;
}

std::vector<uint8_t> bytes_of(const Known& known) {
  const size_t size = element_size(known.dtype);
  std::vector<uint8_t> bytes(known.elements.size() * size);
  for (size_t i = 0; i < known.elements.size(); ++i) {
    store_element(known.dtype, known.elements[i], bytes.data() + i * size);
  }
  return bytes;
}

std::optional<Known> known_as(const Known& known, DType dtype) {
  Known out = known;
  out.dtype = dtype;
  if (!may_be_known(dtype, static_cast<int64_t>(out.elements.size()))) return std::nullopt;
  for (Number& e : out.elements) {
    if (!e.whole.is_constant()) {
      if (dtype != DType::kI64 && dtype != DType::kI32) return std::nullopt;
    } else if (known.floating() && !is_floating(dtype)) {
      if (!(std::abs(e.real) < 9.0e18)) return std::nullopt;
      e.whole = ir::Dim(dtype == DType::kBool ? e.real != 0 : static_cast<int64_t>(e.real));
    } else if (!known.floating() && is_floating(dtype)) {
      e.real = static_cast<double>(e.whole.value);
      e.whole = ir::Dim();
    }
    e = rounded(dtype, e);
  }
  return out;
}

Number rounded(DType dtype, Number number) {
  if (!is_floating(dtype) && !number.whole.is_constant()) return number;
  if (dtype == DType::kBool) return {ir::Dim(number.whole.value != 0), 0};
  uint8_t bytes[8];
  store_element(dtype, number, bytes);
  return load_element(dtype, bytes);
}

}  // namespace berth::onnx
