// Element types as Python has them: NumPy's, DLPack's, and those of the package ml_dtypes.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <string>

#include "base/dtype.h"
#include "base/span.h"

namespace berth::python {

struct ElementType {
  DType dtype;
  const char* numpy;  // its name in NumPy; null: NumPy has none
  uint8_t code;       // DLPack's; bits are those of an element
};

/// Null for a type that Python has in no form.
const ElementType* find_type(DType dtype);
/// The type that an array of DLPack's has; null for one that Berth does not have.
const ElementType* find_type(nanobind::dlpack::dtype type);
/// Raises NotSupported for a type that find_type() does not have.
nanobind::dlpack::dtype dlpack_type(DType dtype);
/// NumPy's object for a type, made once. REQUIRES: NumPy has the type.
nanobind::handle numpy_dtype(const ElementType& type);

/// A type by its letter in a buffer's format, if the letter and the size of an element name one. Null stands for bytes.
bool parse_format(const char* format, Py_ssize_t item, DType* out);

/// A type by its name in ml_dtypes. NumPy has these types from there; their arrays have no buffer.
bool parse_extension_name(const std::string& name, DType* out);
/// The reverse; null where it has none.
const char* extension_name(DType dtype);

/// "f32[1x3x224x224]".
std::string type_text(DType dtype, Span<const int64_t> sizes);

/// The text form of a type, "f32", as a DType; raises InvalidArgument.
DType parse_dtype_or_raise(const std::string& text);

}  // namespace berth::python
