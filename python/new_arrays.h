// Memory as arrays of Python's: NumPy's, and berth.Tensor for element types that NumPy does not have.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "base/span.h"

namespace berth::python {

/// A tensor's sizes, as arrays have them.
inline std::vector<int64_t> wide(Span<const int32_t> sizes) { return {sizes.begin(), sizes.end()}; }

/// A new row-major array, uninitialised, and where its elements are: NumPy's, or a berth.Tensor for element types that
/// NumPy does not have.
class NewArray {
 public:
  NewArray() = default;
  NewArray(DType dtype, Span<const int64_t> sizes);
  uint8_t* data() const { return data_; }
  nanobind::object take() { return std::move(object_); }

 private:
  nanobind::object object_;
  uint8_t* data_ = nullptr;
};

/// A read-only array over memory of another's, which `owner` keeps alive. Strides in elements.
nanobind::object view_array(const void* data, DType dtype, Span<const int64_t> sizes, Span<const int64_t> strides,
                            nanobind::handle owner);

/// The class berth.Tensor.
void add_arrays(nanobind::module_& module);

}  // namespace berth::python
