#include "python/new_arrays.h"

#include <nanobind/ndarray.h>

#include <string>
#include <utility>
#include <vector>

#include "python/arrays.h"
#include "python/casters.h"
#include "python/element_types.h"
#include "python/errors.h"

namespace nb = nanobind;

namespace berth::python {
namespace {

nb::object& numpy_empty() {
  static nb::object* const function = new nb::object(nb::module_::import_("numpy").attr("empty"));
  return *function;
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
  const char* const name = extension_name(tensor.dtype);
  if (name != nullptr) return tensor.bits.attr("view")(nb::module_::import_("ml_dtypes").attr(name));
  raise(Error::kNotSupported, std::string("element type ") + to_string(tensor.dtype), "is not one of ml_dtypes either");
}

std::string repr_of(const TensorObject& tensor) {
  return "berth.Tensor(" + type_text(tensor.dtype, tensor.sizes) + ")";
}

// Unsigned integers of the same size.
DType unsigned_of(DType dtype) {
  const size_t size = element_size(dtype);
  return size == 1 ? DType::kU8 : size == 2 ? DType::kU16 : DType::kU32;
}

nb::object new_tensor(DType dtype, Span<const int64_t> sizes, uint8_t** data) {
  TensorObject tensor;
  const nb::dlpack::dtype type = dlpack_type(dtype);
  tensor.dtype = dtype;
  tensor.sizes.assign(sizes.begin(), sizes.end());
  tensor.bits = numpy_empty()(shape_tuple(sizes), numpy_dtype(*find_type(unsigned_of(dtype))));
  Borrowed memory = Borrowed::take_writable(tensor.bits, "result");
  *data = memory.data();
  std::vector<size_t> shape(sizes.begin(), sizes.end());
  const nb::ndarray<nb::array_api> array(*data, shape.size(), shape.data(), tensor.bits, nullptr, type,
                                         nb::device::cpu::value);
  tensor.dlpack = nb::cast(array);
  return nb::cast(std::move(tensor));
}

}  // namespace

NewArray::NewArray(DType dtype, Span<const int64_t> sizes) {
  const ElementType* type = find_type(dtype);
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
  TensorObject tensor;
  tensor.dtype = dtype;
  tensor.sizes.assign(sizes.begin(), sizes.end());
  const nb::dlpack::dtype bits = dlpack_type(unsigned_of(dtype));
  tensor.bits = nb::cast(nb::ndarray<nb::numpy, nb::ro>(data, shape.size(), shape.data(), owner, strides.data(), bits,
                                                        nb::device::cpu::value));
  tensor.dlpack = nb::cast(nb::ndarray<nb::array_api, nb::ro>(data, shape.size(), shape.data(), owner, strides.data(),
                                                              type, nb::device::cpu::value));
  return nb::cast(std::move(tensor));
}

void add_arrays(nb::module_& module) {
  nb::class_<TensorObject>(module, "Tensor",
                           "A result of an element type that NumPy does not have, such as bf16. "
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
