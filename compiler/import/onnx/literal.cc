#include "compiler/import/onnx/literal.h"

#include <cstring>

#include "base/math.h"
#include "base/narrow.h"
#include "compiler/import/onnx/wire.h"

namespace berth::onnx {
namespace {

struct ElementRow {
  const char* name;
  ElementType type;
  DType dtype;
  TypedData typed;  // the field that holds numbers of this type
  bool known;       // whether operators take it
};

constexpr ElementRow kElements[] = {
    {"FLOAT", ElementType::kFloat, DType::kF32, TypedData::kFloat, true},
    {"UINT8", ElementType::kUint8, DType::kU8, TypedData::kInt32, true},
    {"INT8", ElementType::kInt8, DType::kI8, TypedData::kInt32, true},
    {"UINT16", ElementType::kUint16, DType::kU16, TypedData::kInt32, true},
    {"INT16", ElementType::kInt16, DType::kI16, TypedData::kInt32, true},
    {"INT32", ElementType::kInt32, DType::kI32, TypedData::kInt32, true},
    {"INT64", ElementType::kInt64, DType::kI64, TypedData::kInt64, true},
    {"STRING", ElementType::kString, DType::kU8, TypedData::kString, false},
    {"BOOL", ElementType::kBool, DType::kBool, TypedData::kInt32, true},
    {"FLOAT16", ElementType::kFloat16, DType::kF16, TypedData::kInt32, true},
    {"DOUBLE", ElementType::kDouble, DType::kF64, TypedData::kDouble, true},
    {"UINT32", ElementType::kUint32, DType::kU32, TypedData::kUint64, true},
    {"UINT64", ElementType::kUint64, DType::kU64, TypedData::kUint64, true},
    {"COMPLEX64", ElementType::kComplex64, DType::kComplex64, TypedData::kFloat, false},
    {"COMPLEX128", ElementType::kComplex128, DType::kComplex128, TypedData::kDouble, false},
    {"BFLOAT16", ElementType::kBfloat16, DType::kBF16, TypedData::kInt32, true},
    {"FLOAT8E4M3FN", ElementType::kFloat8E4M3Fn, DType::kF8E4M3, TypedData::kInt32, true},
    {"FLOAT8E4M3FNUZ", ElementType::kFloat8E4M3Fnuz, DType::kF8E4M3Fnuz, TypedData::kInt32, true},
    {"FLOAT8E5M2", ElementType::kFloat8E5M2, DType::kF8E5M2, TypedData::kInt32, true},
    {"FLOAT8E5M2FNUZ", ElementType::kFloat8E5M2Fnuz, DType::kF8E5M2Fnuz, TypedData::kInt32, true},
    {"UINT4", ElementType::kUint4, DType::kU4, TypedData::kInt32, true},
    {"INT4", ElementType::kInt4, DType::kI4, TypedData::kInt32, true},
    {"FLOAT4E2M1", ElementType::kFloat4E2M1, DType::kF4E2M1, TypedData::kInt32, true},
    {"FLOAT8E8M0", ElementType::kFloat8E8M0, DType::kF8E8M0, TypedData::kInt32, true},
    {"UINT2", ElementType::kUint2, DType::kU2, TypedData::kInt32, true},
    {"INT2", ElementType::kInt2, DType::kI2, TypedData::kInt32, true},
    {"FLOAT6E2M3", static_cast<ElementType>(27), DType::kU8, TypedData::kInt32, false},
    {"FLOAT6E3M2", static_cast<ElementType>(28), DType::kU8, TypedData::kInt32, false},
};

const ElementRow* find_element(int32_t element_type) {
  for (const ElementRow& row : kElements) {
    if (static_cast<int32_t>(row.type) == element_type) return &row;
  }
  return nullptr;
}

Failure damaged(const Tensor& tensor, std::string message) {
  return Failure{Error::kInvalidProgram, "onnx tensor \"" + std::string(tensor.name) + "\"", std::move(message)};
}

/// How many elements of `dtype` share a byte in a model file.
size_t elements_a_byte(DType dtype) {
  switch (dtype) {
    case DType::kI4:
    case DType::kU4:
    case DType::kF4E2M1: return 2;
    case DType::kI2:
    case DType::kU2: return 4;
    default: return 1;
  }
}

/// The shape of `dims`, and its number of elements.
Expected<ir::TensorType> shape_of(const Tensor& tensor, const std::vector<int64_t>& dims, size_t* count) {
  if (dims.size() > static_cast<size_t>(kMaxRank)) {
    return damaged(tensor, "has " + std::to_string(dims.size()) + " dimensions; at most " + std::to_string(kMaxRank) +
                               " are allowed");
  }
  ir::TensorType type;
  int64_t numel = 1;
  for (int64_t d : dims) {
    if (d < 0 || d > INT32_MAX) return damaged(tensor, "has a dimension of " + std::to_string(d));
    if (!checked_mul(numel, d, &numel) || numel > kMaxElements) {
      return damaged(tensor, "has more than 2^40 elements");
    }
    type.shape.emplace_back(d);
  }
  *count = numel;
  return type;
}

void put(std::vector<uint8_t>& out, size_t index, uint64_t number, size_t size) {
  std::memcpy(out.data() + index * size, &number, size);  // little-endian, like the hosts that compile
}

}  // namespace

std::string element_type_name(int32_t element_type) {
  const ElementRow* row = find_element(element_type);
  return row ? row->name : "type " + std::to_string(element_type);
}

bool dtype_of(int32_t element_type, DType* out) {
  const ElementRow* row = find_element(element_type);
  if (row == nullptr || !row->known) return false;
  *out = row->dtype;
  return true;
}

Expected<Literal> LiteralReader::read(const Tensor& tensor) {
  size_t count = 0;
  auto type = shape_of(tensor, tensor.dims, &count);
  if (!type.ok()) return type.error();
  Literal literal{std::move(*type), {}};
  if (!dtype_of(tensor.element_type, &literal.type.dtype)) {
    Failure failure = damaged(tensor, "has elements of " + element_type_name(tensor.element_type) +
                                          ", which no operator here takes; convert the model to another type");
    failure.code = Error::kNotSupported;
    return failure;
  }
  const size_t size = count * element_size(literal.type.dtype);
  if (tensor.external + tensor.has_raw + (tensor.typed != TypedData::kNone) > 1) {
    return damaged(tensor, "holds its elements in more than one field; raw, typed and external exclude each other");
  }
  auto blob = elements_a_byte(literal.type.dtype) > 1 ? unpacked_blob(tensor, literal.type.dtype, count)
              : tensor.external                       ? external_blob(tensor, size)
              : tensor.has_raw                        ? raw_blob(tensor, size)
                                                      : typed_blob(tensor, literal.type.dtype, count);
  if (!blob.ok()) return blob.error();
  literal.blob = std::move(*blob);
  return literal;
}

Status LiteralReader::take(const Tensor& tensor, size_t size) {
  if (size > budget_) {
    return Failure{Error::kOutOfResources, damaged(tensor, "").place,
                   "decoded tensors would take more than 2 × the file + 64 MB of memory"};
  }
  budget_ -= size;
  return Done{};
}

Expected<ir::Blob> LiteralReader::raw_blob(const Tensor& tensor, size_t size) {
  if (tensor.raw.size() != size) {
    return damaged(tensor, "needs " + std::to_string(size) + " raw bytes for its shape, found " +
                               std::to_string(tensor.raw.size()));
  }
  if (file_ != nullptr) {
    return ir::Blob::mapped(file_, tensor.raw.data() - bytes_.data(), size);
  }
  BERTH_TRY(take(tensor, size));
  return ir::Blob::owned(std::vector<uint8_t>(tensor.raw.begin(), tensor.raw.end()));
}

Expected<ir::Blob> LiteralReader::typed_blob(const Tensor& tensor, DType dtype, size_t count) {
  const ElementRow& row = *find_element(tensor.element_type);
  const size_t size = element_size(dtype);
  if (count > 0 && tensor.typed != row.typed) {
    return damaged(tensor, "holds its " + std::string(row.name) + " elements in no field that may hold them");
  }
  size_t encoded = 0;
  for (std::string_view chunk : tensor.typed_chunks) encoded += chunk.size();
  const bool fixed = row.typed == TypedData::kFloat || row.typed == TypedData::kDouble;
  const size_t least = count * (fixed ? size : 1);  // before memory is taken for elements that cannot be there
  const auto mismatch = [&](const char* found) {
    return damaged(tensor, "needs " + std::to_string(count) + " elements for its shape, found " + found);
  };
  if (encoded < least) return mismatch("fewer");
  BERTH_TRY(take(tensor, count * size));
  std::vector<uint8_t> out(count * size);
  size_t index = 0;
  for (std::string_view chunk : tensor.typed_chunks) {
    while (!chunk.empty()) {
      if (index == count) return mismatch("more");
      uint64_t number = 0;
      if (fixed) {
        if (chunk.size() < size) return mismatch("a number that is cut short");
        std::memcpy(&number, chunk.data(), size);
        chunk.remove_prefix(size);
      } else if (!take_varint(chunk, &number)) {
        return mismatch("a number that is cut short");
      }
      if (dtype == DType::kBool) number = number != 0;
      put(out, index++, number, size);
    }
  }
  if (index < count) return mismatch("fewer");
  return ir::Blob::owned(std::move(out));
}

// Several elements a byte, the first in the low bits.
Expected<ir::Blob> LiteralReader::unpacked_blob(const Tensor& tensor, DType dtype, size_t count) {
  const size_t together = elements_a_byte(dtype);
  const size_t packed = ceil_div(count, together);
  Tensor bytes = tensor;
  bytes.element_type = static_cast<int32_t>(ElementType::kUint8);
  auto blob = tensor.external  ? external_blob(tensor, packed)
              : tensor.has_raw ? raw_blob(tensor, packed)
                               : typed_blob(bytes, DType::kU8, packed);
  if (!blob.ok()) return blob.error();
  BERTH_TRY(take(tensor, count));
  const Span<const uint8_t> in = blob->bytes();
  const size_t bits = 8 / together;
  std::vector<uint8_t> out(count);
  for (size_t i = 0; i < count; ++i) {
    const int64_t low = (in[i / together] >> (i % together * bits)) & ((1 << bits) - 1);
    if (is_narrow_integer(dtype)) encode_narrow(dtype, &low, &out[i], 1);
    if (!is_narrow_integer(dtype)) out[i] = static_cast<uint8_t>(low);
  }
  return ir::Blob::owned(std::move(out));
}

Expected<Literal> LiteralReader::read(const SparseTensor& sparse) {
  auto values = read(sparse.values);
  if (!values.ok()) return values.error();
  auto indices = read(sparse.indices);
  if (!indices.ok()) return indices.error();
  size_t count = 0;
  auto type = shape_of(sparse.values, sparse.dims, &count);
  if (!type.ok()) return type.error();
  type->dtype = values->type.dtype;

  const size_t size = element_size(type->dtype);
  const size_t stored = values->blob.size() / size;
  const bool flat = indices->type.rank() == 1;
  const size_t columns = flat ? 1 : sparse.dims.size();
  if (values->type.rank() != 1 || indices->type.dtype != DType::kI64 || (!flat && indices->type.rank() != 2) ||
      indices->blob.size() != stored * columns * sizeof(int64_t) ||
      (!flat && indices->type.shape[1].value != static_cast<int64_t>(columns))) {
    return damaged(sparse.values,
                   "is sparse; expected 1-d values of length n and i64 indices of shape [n] or [n, rank]");
  }
  BERTH_TRY(take(sparse.values, count * size));
  std::vector<uint8_t> out(count * size);
  std::vector<uint8_t> value(size);
  for (size_t i = 0; i < stored; ++i) {
    size_t place = 0;
    for (size_t c = 0; c < columns; ++c) {
      int64_t index = 0;
      uint8_t bytes[sizeof index];
      indices->blob.read((i * columns + c) * sizeof index, bytes);
      std::memcpy(&index, bytes, sizeof index);
      const int64_t extent = flat ? static_cast<int64_t>(count) : sparse.dims[c];
      if (index < 0 || index >= extent) return damaged(sparse.values, "is sparse and has an index outside its shape");
      place = place * extent + index;
    }
    values->blob.read(i * size, value);
    std::memcpy(out.data() + place * size, value.data(), size);
  }
  return Literal{std::move(*type), ir::Blob::owned(std::move(out))};
}

}  // namespace berth::onnx
