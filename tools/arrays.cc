#include "tools/arrays.h"

#include <cstring>

#include "base/half.h"
#include "base/narrow.h"
#include "runtime/host/dim_order_copy.h"

namespace berth::tool {
namespace {

// `bytes` are the tensor's own, on the host.
Array row_major(const Tensor& tensor, const uint8_t* bytes) {
  Array array;
  array.dtype = tensor.dtype();
  array.shape.assign(tensor.sizes().begin(), tensor.sizes().end());
  const size_t element = element_size(tensor.dtype());
  array.bytes.resize(tensor.nbytes());
  if (array.bytes.empty()) return array;
  if (tensor.is_contiguous()) {
    std::memcpy(array.bytes.data(), bytes, array.bytes.size());
    return array;
  }
  std::vector<int64_t> at(tensor.rank(), 0);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    int64_t offset = 0;
    for (int d = 0; d < tensor.rank(); ++d) offset += at[d] * tensor.stride(d);
    std::memcpy(&array.bytes[i * element], bytes + offset * element, element);
    for (int d = tensor.rank() - 1; d >= 0 && ++at[d] == tensor.size(d); --d) {
      at[d] = 0;
    }
  }
  return array;
}

}  // namespace

Expected<Array> array_of(const Tensor& tensor, const DeviceAllocatorRegistry& registry, const std::string& place) {
  if (tensor.device().is_cpu()) return row_major(tensor, static_cast<const uint8_t*>(tensor.raw()));
  std::vector<uint8_t> bytes(tensor.nbytes());
  DeviceAllocator* allocator = registry.get_allocator(tensor.device().type);
  const Error error = allocator == nullptr ? Error::kNotFound
                                           : allocator->copy_device_to_host(bytes.data(), tensor.raw(), bytes.size(),
                                                                            tensor.device().index);
  if (error == Error::kOk) return row_major(tensor, bytes.data());
  return Failure{error, place, "cannot be copied from its device"};
}

Array array_of_scalar(const EValue& value) {
  Array array;
  const auto put = [&](DType dtype, auto number) {
    array.dtype = dtype;
    array.bytes.resize(sizeof number);
    std::memcpy(array.bytes.data(), &number, sizeof number);
  };
  if (value.is_int()) put(DType::kI64, value.to_int());
  if (value.is_double()) put(DType::kF64, value.to_double());
  if (value.is_bool()) put(DType::kBool, static_cast<uint8_t>(value.to_bool()));
  return array;
}

Array array_of(const eval::Array& array) {
  Array out{array.dtype, {array.sizes.begin(), array.sizes.end()}, array.bytes};
  if (array.bytes.empty() || same_dim_order(array.dim_order, {}, array.sizes.size())) return out;
  copy_to_dim_order(array.bytes.data(), array.dim_order, out.bytes.data(), {}, array.sizes, element_size(array.dtype));
  return out;
}

eval::Array evaluated(const Array& array, const std::vector<uint8_t>& dim_order) {
  eval::Array out;
  out.dtype = array.dtype;
  for (const int64_t size : array.shape) out.sizes.push_back(static_cast<int32_t>(size));
  out.dim_order = dim_order;
  out.bytes = array.bytes;
  if (array.bytes.empty() || same_dim_order({}, dim_order, out.sizes.size())) return out;
  copy_to_dim_order(array.bytes.data(), {}, out.bytes.data(), dim_order, out.sizes, element_size(array.dtype));
  return out;
}

double number_at(const Array& array, size_t i) {
  const uint8_t* at = &array.bytes[i * element_size(array.dtype)];
  const auto get = [&](auto x) {
    std::memcpy(&x, at, sizeof x);
    return static_cast<double>(x);
  };
  switch (array.dtype) {
    case DType::kF16: return get(Half());
    case DType::kBF16: return get(BFloat16());
    case DType::kF32: return get(float());
    case DType::kF64: return get(double());
    case DType::kI64: return get(int64_t());
    case DType::kI32: return get(int32_t());
    case DType::kI16: return get(int16_t());
    case DType::kI8: return get(int8_t());
    case DType::kU64: return get(uint64_t());
    case DType::kU32: return get(uint32_t());
    case DType::kU16: return get(uint16_t());
    case DType::kU8:
    case DType::kBool: return get(uint8_t());
    default: break;
  }
  float real = 0;
  int64_t whole = 0;
  if (is_narrow_float(array.dtype)) decode_narrow(array.dtype, at, &real, 1);
  if (is_narrow_integer(array.dtype)) decode_narrow(array.dtype, at, &whole, 1);
  return is_narrow_float(array.dtype) ? static_cast<double>(real) : static_cast<double>(whole);
}

std::vector<double> numbers_of(const Array& array) {
  Array parts = array;  // complex elements as two reals each
  if (array.dtype == DType::kComplex32) parts.dtype = DType::kF16;
  if (array.dtype == DType::kComplex64) parts.dtype = DType::kF32;
  if (array.dtype == DType::kComplex128) parts.dtype = DType::kF64;
  std::vector<double> numbers(parts.bytes.size() / element_size(parts.dtype));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = number_at(parts, i);
  return numbers;
}

std::string type_text(DType dtype, const std::vector<int64_t>& shape) {
  std::string text = std::string(to_string(dtype)) + "[";
  for (size_t d = 0; d < shape.size(); ++d) text += (d == 0 ? "" : ",") + std::to_string(shape[d]);
  return text + "]";
}

}  // namespace berth::tool
