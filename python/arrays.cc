#include "python/arrays.h"

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "python/casters.h"
#include "python/errors.h"

namespace nb = nanobind;

namespace berth::python {
namespace {

struct Type {
  DType dtype;
  const char* numpy;  // its name in NumPy; null: NumPy has none
  uint8_t code;       // DLPack's; bits are those of an element
};
constexpr uint8_t code(nb::dlpack::dtype_code code) { return static_cast<uint8_t>(code); }

using Code = nb::dlpack::dtype_code;
constexpr Type kTypes[] = {
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

const Type* find_type(DType dtype) {
  for (const Type& type : kTypes) {
    if (type.dtype == dtype) return &type;
  }
  return nullptr;
}

nb::dlpack::dtype dlpack_type(DType dtype) {
  const Type* type = find_type(dtype);
  if (type == nullptr) {
    raise(Error::kNotSupported, std::string("element type ") + to_string(dtype),
          "has no form in NumPy or DLPack, so Python cannot see it; cast it in the model");
  }
  return {type->code, static_cast<uint8_t>(element_size(dtype) * 8), 1};
}

// A type by its letter in a buffer's format, if the letter and the size of an element name one.
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

// "float64", "a list": what an object is, for messages.
std::string kind_of(nb::handle object) { return std::string("a ") + Py_TYPE(object.ptr())->tp_name; }

// Types that NumPy has from other packages, such as ml_dtypes; their arrays have no buffer.
bool parse_extension_name(const std::string& name, DType* out) {
  for (const auto& [known, dtype] : kExtensions) {
    *out = dtype;
    if (name == known) return true;
  }
  return false;
}

// Copies from one strided array to another of the same sizes; strides in bytes. `rank` dimensions are left.
void copy_strided(const uint8_t* from, const int64_t* from_strides, uint8_t* to, const int64_t* to_strides,
                  const int64_t* sizes, int rank, size_t element) {
  if (rank == 0) {
    std::memcpy(to, from, element);
    return;
  }
  const bool row =
      rank == 1 && from_strides[0] == static_cast<int64_t>(element) && to_strides[0] == static_cast<int64_t>(element);
  if (row) {
    if (sizes[0] > 0) std::memcpy(to, from, sizes[0] * element);
    return;
  }
  for (int64_t i = 0; i < sizes[0]; ++i) {
    copy_strided(from + i * from_strides[0], from_strides + 1, to + i * to_strides[0], to_strides + 1, sizes + 1,
                 rank - 1, element);
  }
}

// The strides in bytes of a packed array, by dimension.
std::array<int64_t, kMaxRank> packed_strides(Span<const int64_t> sizes, Span<const uint8_t> dim_order, size_t element) {
  std::array<int64_t, kMaxRank> strides = {};
  int64_t stride = static_cast<int64_t>(element);
  for (size_t i = sizes.size(); i-- > 0;) {
    const size_t dim = dim_order.empty() ? i : dim_order[i];
    strides[dim] = stride;
    stride *= sizes[dim];
  }
  return strides;
}

nb::object& numpy_empty() {
  static nb::object* const function = new nb::object(nb::module_::import_("numpy").attr("empty"));
  return *function;
}

// NumPy's object for a type, made once.
nb::handle numpy_dtype(const Type& type) {
  static nb::object* const made = new nb::object[std::size(kTypes)];
  nb::object& dtype = made[&type - kTypes];
  if (!dtype.is_valid()) dtype = nb::module_::import_("numpy").attr("dtype")(type.numpy);
  return dtype;
}

nb::object shape_tuple(Span<const int64_t> sizes) {
  nb::object shape = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(sizes.size())));
  if (!shape.is_valid()) nb::raise_python_error();
  for (size_t i = 0; i < sizes.size(); ++i) {
    PyObject* size = PyLong_FromLongLong(sizes[i]);
    if (size == nullptr) nb::raise_python_error();
    PyTuple_SetItem(shape.ptr(), static_cast<Py_ssize_t>(i), size);
  }
  return shape;
}

/// berth.Tensor: a result of an element type that NumPy does not have.
struct TensorObject {
  DType dtype = DType::kBF16;
  std::vector<int64_t> sizes;
  nb::object bits;    // NumPy's array of unsigned integers: the elements as they are
  nb::object dlpack;  // an object with __dlpack__
};

nb::object bits_array(const TensorObject& tensor) { return tensor.bits; }

nb::object float32_of(const TensorObject& tensor) {
  if (tensor.dtype != DType::kBF16) {
    raise(Error::kNotSupported, std::string("element type ") + to_string(tensor.dtype),
          "only bf16 is widened here; torch.from_dlpack() and ml_dtypes take the others");
  }
  const nb::object wide = tensor.bits.attr("astype")("uint32").attr("__lshift__")(16);
  return wide.attr("astype")("uint32").attr("view")("float32");
}

nb::object numpy_of(const TensorObject& tensor) {
  for (const auto& [name, dtype] : kExtensions) {
    if (dtype == tensor.dtype) return tensor.bits.attr("view")(nb::module_::import_("ml_dtypes").attr(name));
  }
  raise(Error::kNotSupported, std::string("element type ") + to_string(tensor.dtype), "is not one of ml_dtypes either");
}

std::string repr_of(const TensorObject& tensor) {
  return "berth.Tensor(" + type_text(tensor.dtype, tensor.sizes) + ")";
}

nb::object new_tensor(DType dtype, Span<const int64_t> sizes, uint8_t** data) {
  TensorObject tensor;
  const nb::dlpack::dtype type = dlpack_type(dtype);
  tensor.dtype = dtype;
  tensor.sizes.assign(sizes.begin(), sizes.end());
  const char* const unsigned_type = element_size(dtype) == 1 ? "uint8" : element_size(dtype) == 2 ? "uint16" : "uint32";
  tensor.bits = numpy_empty()(shape_tuple(sizes), unsigned_type);
  Borrowed memory = Borrowed::take_writable(tensor.bits, "result");
  *data = memory.data();
  std::vector<size_t> shape(sizes.begin(), sizes.end());
  const nb::ndarray<nb::array_api> array(*data, shape.size(), shape.data(), tensor.bits, nullptr, type,
                                         nb::device::cpu::value);
  tensor.dlpack = nb::cast(array);
  return nb::cast(std::move(tensor));
}

}  // namespace

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

Borrowed& Borrowed::operator=(Borrowed&& other) noexcept {
  if (this == &other) return *this;
  reset();
  buffer_ = other.buffer_;
  // A Py_buffer may point into itself.
  if (other.buffer_.shape == &other.buffer_.len) buffer_.shape = &buffer_.len;
  if (other.buffer_.strides == &other.buffer_.itemsize) buffer_.strides = &buffer_.itemsize;
  has_buffer_ = std::exchange(other.has_buffer_, false);
  array_ = std::move(other.array_);
  data_ = other.data_;
  writable_ = other.writable_;
  dtype_ = other.dtype_;
  device_ = other.device_;
  rank_ = other.rank_;
  sizes_ = other.sizes_;
  strides_ = other.strides_;
  return *this;
}

void Borrowed::reset() {
  if (has_buffer_) PyBuffer_Release(&buffer_);
  has_buffer_ = false;
}

bool Borrowed::take_buffer(nb::handle object, const std::string& place, Borrowed* out) {
  if (PyObject_CheckBuffer(object.ptr()) == 0) return false;
  Py_buffer& buffer = out->buffer_;
  if (PyObject_GetBuffer(object.ptr(), &buffer, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    PyErr_Clear();  // an array of a type that buffers do not have
    return false;
  }
  out->has_buffer_ = true;
  if (buffer.ndim > kMaxRank) {
    raise(Error::kInvalidArgument, place, "has " + std::to_string(buffer.ndim) + " dimensions, more than 16");
  }
  if (buffer.format != nullptr && (buffer.format[0] == '>' || buffer.format[0] == '!')) {
    raise(Error::kInvalidArgument, place, "has its bytes in the other order; give x.astype(x.dtype.newbyteorder('='))");
  }
  if (!parse_format(buffer.format, buffer.itemsize, &out->dtype_)) {
    raise(Error::kInvalidType, place,
          std::string("has elements of format '") + buffer.format + "', a type that Berth does not have");
  }
  out->data_ = static_cast<uint8_t*>(buffer.buf);
  out->writable_ = buffer.readonly == 0;
  out->rank_ = buffer.ndim;
  for (int d = 0; d < out->rank_; ++d) {
    out->sizes_[d] = buffer.shape[d];
    out->strides_[d] = buffer.strides[d];
  }
  return true;
}

bool Borrowed::take_dlpack(nb::handle object, const std::string& place, Borrowed* out) {
  if (!nb::hasattr(object, "__dlpack__")) return false;
  if (!nb::try_cast<nb::ndarray<nb::ro>>(object, out->array_)) {
    raise(Error::kInvalidType, place,
          "is " + kind_of(object) + " with elements of a type that Berth does not have, or that DLPack does not give");
  }
  const nb::ndarray<nb::ro>& array = out->array_;
  if (array.ndim() > kMaxRank) {
    raise(Error::kInvalidArgument, place, "has " + std::to_string(array.ndim()) + " dimensions, more than 16");
  }
  const nb::dlpack::dtype wanted = array.dtype();
  const Type* found = nullptr;
  for (const Type& type : kTypes) {
    const bool same = type.code == wanted.code && element_size(type.dtype) * 8 == wanted.bits && wanted.lanes == 1;
    if (same) found = &type;
  }
  if (found == nullptr) raise(Error::kInvalidType, place, "has elements of a type that Berth does not have");
  out->dtype_ = found->dtype;
  switch (array.device_type()) {
    case nb::device::cpu::value:
    case nb::device::cuda_host::value: break;
    case nb::device::cuda::value:
      out->device_ = Device(DeviceType::kCuda, static_cast<DeviceIndex>(array.device_id()));
      break;
    default: raise(Error::kNotSupported, place, "is on a device that Berth has no name for; copy it to the host");
  }
  out->data_ = static_cast<uint8_t*>(const_cast<void*>(array.data()));  // not written unless writable_
  out->rank_ = static_cast<int>(array.ndim());
  for (int d = 0; d < out->rank_; ++d) {
    out->sizes_[d] = static_cast<int64_t>(array.shape(d));
    out->strides_[d] = array.stride(d) * static_cast<int64_t>(element_size(out->dtype_));
  }
  return true;
}

// An array of NumPy's whose type is another package's.
bool Borrowed::take_bits(nb::handle object, const std::string& place, Borrowed* out) {
  if (!nb::hasattr(object, "dtype") || !nb::hasattr(object, "view")) return false;
  const nb::object dtype = object.attr("dtype");
  if (!nb::hasattr(dtype, "name")) return false;
  DType own = DType::kF32;
  if (!parse_extension_name(nb::cast<std::string>(nb::str(dtype.attr("name"))), &own)) return false;
  // What lies in the other bits of a byte is ml_dtypes' affair.
  const Type* type = find_type(own);
  const bool whole = type->numpy != nullptr;
  const nb::object bits =
      whole ? object.attr("astype")(type->numpy) : object.attr("view")(element_size(own) == 1 ? "uint8" : "uint16");
  if (!take_buffer(bits, place, out)) return false;
  out->dtype_ = own;
  return true;
}

// Bytes for numbers of 4 and 2 bits, if each is one.
void Borrowed::narrow(DType dtype, const std::string& place) {
  const bool is_signed = dtype == DType::kI4 || dtype == DType::kI2;
  if (!is_narrow_integer(dtype) || dtype_ != (is_signed ? DType::kI8 : DType::kU8)) return;
  const int bits = dtype == DType::kI4 || dtype == DType::kU4 ? 4 : 2;
  const int low = is_signed ? -(1 << (bits - 1)) : 0;
  const int high = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
  std::vector<uint8_t> elements(numel());
  if (device_.is_cpu()) copy_to(elements.data(), {});
  for (const uint8_t element : elements) {
    const int value = is_signed ? static_cast<int8_t>(element) : element;
    if (value >= low && value <= high) continue;
    raise(Error::kInvalidArgument, place,
          "has the element " + std::to_string(value) + ", which is not a number of " + to_string(dtype));
  }
  dtype_ = dtype;
}

Borrowed Borrowed::take(nb::handle object, DType dtype, const std::string& place) {
  Borrowed taken;
  if (take_buffer(object, place, &taken) || take_bits(object, place, &taken) || take_dlpack(object, place, &taken)) {
    taken.narrow(dtype, place);
    return taken;
  }
  const bool numbers = PyLong_Check(object.ptr()) || PyFloat_Check(object.ptr()) || PyComplex_Check(object.ptr()) ||
                       PyList_Check(object.ptr()) || PyTuple_Check(object.ptr());
  const Type* type = find_type(dtype);
  if (!numbers || type == nullptr || type->numpy == nullptr) {
    raise(Error::kInvalidType, place, "is " + kind_of(object) + ", not an array");
  }
  nb::object array;
  try {
    array = nb::module_::import_("numpy").attr("asarray")(object);
    const bool fits = nb::cast<bool>(
        nb::module_::import_("numpy").attr("can_cast")(array.attr("dtype"), numpy_dtype(*type), "same_kind"));
    const bool empty = nb::cast<int64_t>(array.attr("size")) == 0;
    if (!fits && !empty) {
      raise(Error::kInvalidType, place,
            "takes " + std::string(to_string(dtype)) + ", and these numbers are " +
                nb::cast<std::string>(nb::str(nb::handle(nb::object(array.attr("dtype"))))));
    }
    array = array.attr("astype")(numpy_dtype(*type));
  } catch (const nb::python_error&) {
    raise(Error::kInvalidArgument, place, "these lists are not an array of numbers");
  }
  take_buffer(array, place, &taken);
  taken.narrow(dtype, place);
  return taken;
}

Borrowed Borrowed::take_writable(nb::handle object, const std::string& place) {
  Borrowed taken;
  const bool found =
      take_buffer(object, place, &taken) || take_bits(object, place, &taken) || take_dlpack(object, place, &taken);
  if (!found) raise(Error::kInvalidType, place, "is " + kind_of(object) + ", not an array");
  if (!taken.has_buffer_) {
    // DLPack says whether an array may be written; a second look asks for that.
    nb::ndarray<> writable;
    taken.writable_ = nb::try_cast<nb::ndarray<>>(object, writable);
  }
  if (is_narrow_integer(taken.dtype_)) {
    raise(Error::kNotSupported, place,
          "has elements of 4 or 2 bits, in a form of ml_dtypes' own; results come as bytes");
  }
  if (!taken.writable_) raise(Error::kInvalidArgument, place, "is read-only, and results are written there");
  return taken;
}

int64_t Borrowed::numel() const {
  int64_t count = 1;
  for (int d = 0; d < rank_; ++d) count *= sizes_[d];
  return count;
}

std::string Borrowed::text() const {
  return type_text(dtype_, sizes()) + (device_.is_cpu() ? "" : std::string(" on ") + to_text(device_).text);
}

bool Borrowed::is_packed(Span<const uint8_t> dim_order) const {
  const std::array<int64_t, kMaxRank> packed = packed_strides(sizes(), dim_order, element_size(dtype_));
  for (int d = 0; d < rank_; ++d) {
    if (sizes_[d] > 1 && strides_[d] != packed[d]) return numel() == 0;
  }
  return true;
}

void Borrowed::copy_to(uint8_t* to, Span<const uint8_t> dim_order) const {
  const size_t element = element_size(dtype_);
  if (numel() == 0) return;
  if (is_packed(dim_order)) {
    std::memcpy(to, data_, nbytes());
    return;
  }
  const std::array<int64_t, kMaxRank> packed = packed_strides(sizes(), dim_order, element);
  copy_strided(data_, strides_.data(), to, packed.data(), sizes_.data(), rank_, element);
}

void Borrowed::copy_from(const uint8_t* from) {
  const size_t element = element_size(dtype_);
  if (numel() == 0) return;
  const std::array<int64_t, kMaxRank> packed = packed_strides(sizes(), {}, element);
  copy_strided(from, packed.data(), data_, strides_.data(), sizes_.data(), rank_, element);
}

NewArray::NewArray(DType dtype, Span<const int64_t> sizes) {
  const Type* type = find_type(dtype);
  if (type == nullptr || type->numpy == nullptr) {
    object_ = new_tensor(dtype, sizes, &data_);
    return;
  }
  PyObject* const arguments[] = {nullptr, shape_tuple(sizes).release().ptr(), numpy_dtype(*type).ptr()};
  object_ =
      nb::steal(PyObject_Vectorcall(numpy_empty().ptr(), arguments + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  Py_DECREF(arguments[1]);
  if (!object_.is_valid()) nb::raise_python_error();
  Py_buffer buffer;
  if (PyObject_GetBuffer(object_.ptr(), &buffer, PyBUF_WRITABLE) != 0) nb::raise_python_error();
  data_ = static_cast<uint8_t*>(buffer.buf);
  PyBuffer_Release(&buffer);  // the array keeps its memory where it is
}

nb::object view_array(const void* data, DType dtype, Span<const int64_t> sizes, Span<const int64_t> strides,
                      nb::handle owner) {
  const nb::dlpack::dtype type = dlpack_type(dtype);
  const std::vector<size_t> shape(sizes.begin(), sizes.end());
  const bool numpy = find_type(dtype)->numpy != nullptr;
  if (numpy) {
    return nb::cast(nb::ndarray<nb::numpy, nb::ro>(data, shape.size(), shape.data(), owner, strides.data(), type,
                                                   nb::device::cpu::value));
  }
  return nb::cast(nb::ndarray<nb::array_api, nb::ro>(data, shape.size(), shape.data(), owner, strides.data(), type,
                                                     nb::device::cpu::value));
}

void add_arrays(nb::module_& module) {
  nb::class_<TensorObject>(module, "Tensor",
                           "A result of an element type that NumPy does not have, such as bf16, in memory of its own. "
                           "torch.from_dlpack() takes it without a copy.")
      .def_prop_ro(
          "dtype", [](const TensorObject& tensor) { return to_string(tensor.dtype); }, "\"bf16\"")
      .def_prop_ro("shape", [](const TensorObject& tensor) { return shape_tuple(tensor.sizes); })
      .def("bits", &bits_array, "The elements as unsigned integers of their size, without a copy.")
      .def("float32", &float32_of, "The elements as a new array of float32. bf16 only.")
      .def("numpy", &numpy_of, "The elements as a NumPy array of ml_dtypes' type, without a copy.")
      .def("__dlpack__", [](const TensorObject& tensor, nb::args args,
                            nb::kwargs kwargs) { return tensor.dlpack.attr("__dlpack__")(*args, **kwargs); })
      .def("__dlpack_device__", [](const TensorObject& tensor) { return tensor.dlpack.attr("__dlpack_device__")(); })
      .def("__repr__", &repr_of);
}

}  // namespace berth::python
