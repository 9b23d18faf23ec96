#include "python/arrays.h"

#include <cstring>
#include <utility>
#include <vector>

#include "python/casters.h"
#include "python/errors.h"

namespace nb = nanobind;

namespace berth::python {
namespace {

// "float64", "a list": what an object is, for messages.
std::string kind_of(nb::handle object) { return std::string("a ") + Py_TYPE(object.ptr())->tp_name; }

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

}  // namespace

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
  const ElementType* const found = find_type(array.dtype());
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
  const ElementType* type = find_type(own);
  const bool whole = type->numpy != nullptr;
  const nb::object bits =
      whole ? object.attr("astype")(type->numpy) : object.attr("view")(element_size(own) == 1 ? "uint8" : "uint16");
  if (!take_buffer(bits, place, out)) return false;
  out->dtype_ = own;
  return true;
}

// Integers and truths.
bool is_whole(const nb::object& array) {
  const std::string kind = nb::cast<std::string>(nb::object(array.attr("dtype").attr("kind")));
  return kind == "b" || kind == "i" || kind == "u";
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

// `array` with elements of `type`, which has NumPy's. Raises InvalidArgument with `place` where a number is not one of
// that: integers stay what they are, floats are rounded.
nb::object as_type(const nb::object& array, const ElementType& type, DType dtype, const std::string& place) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::object before = numpy.attr("seterr")(nb::arg("all") = "ignore");
  const auto restore = [&] { numpy.attr("seterr")(**nb::cast<nb::dict>(before)); };
  nb::object made;
  try {
    made = array.attr("astype")(numpy_dtype(type));
  } catch (...) {
    restore();
    throw;
  }
  restore();
  const bool whole = is_whole(array);
  const nb::object same =
      whole ? nb::object(numpy.attr("equal")(made, array))
            : nb::object(numpy.attr("equal")(numpy.attr("isfinite")(made), numpy.attr("isfinite")(array)));
  if (PyObject_IsTrue(nb::object(numpy.attr("all")(same)).ptr()) == 1) return made;
  const nb::object others = numpy.attr("extract")(numpy.attr("logical_not")(same), array);
  raise(Error::kInvalidArgument, place,
        nb::cast<std::string>(nb::str(nb::handle(nb::object(others.attr("item")(0))))) + " is not a number of " +
            to_string(dtype));
}

Borrowed Borrowed::take(nb::handle object, DType dtype, const std::string& place) {
  Borrowed taken;
  if (take_buffer(object, place, &taken) || take_bits(object, place, &taken) || take_dlpack(object, place, &taken)) {
    taken.narrow(dtype, place);
    return taken;
  }
  const bool numbers = PyLong_Check(object.ptr()) || PyFloat_Check(object.ptr()) || PyComplex_Check(object.ptr()) ||
                       PyList_Check(object.ptr()) || PyTuple_Check(object.ptr());
  const ElementType* type = find_type(dtype);
  if (!numbers || type == nullptr || type->numpy == nullptr) {
    raise(Error::kInvalidType, place, "is " + kind_of(object) + ", not an array");
  }
  nb::object array;
  try {
    array = nb::module_::import_("numpy").attr("asarray")(object);
    const bool fits = is_whole(array) || nb::cast<bool>(nb::module_::import_("numpy").attr("can_cast")(
                                             array.attr("dtype"), numpy_dtype(*type), "same_kind"));
    const bool empty = nb::cast<int64_t>(array.attr("size")) == 0;
    if (!fits && !empty) {
      raise(Error::kInvalidType, place,
            "takes " + std::string(to_string(dtype)) + ", and these numbers are " +
                nb::cast<std::string>(nb::str(nb::handle(nb::object(array.attr("dtype"))))));
    }
    array = empty ? nb::object(array.attr("astype")(numpy_dtype(*type))) : as_type(array, *type, dtype, place);
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

}  // namespace berth::python
