// Arrays of Python's as memory: by the buffer protocol, and by DLPack where an object has no buffer or NumPy has no
// such type.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <array>
#include <cstdint>
#include <string>

#include "base/device.h"
#include "base/dtype.h"
#include "base/span.h"
#include "python/element_types.h"

namespace berth::python {

/// An array of the caller's, kept alive and in place as long as this object. Only made and destroyed with the
/// interpreter's lock.
class Borrowed {
 public:
  Borrowed() = default;
  ~Borrowed() { reset(); }
  Borrowed(Borrowed&& other) noexcept { *this = std::move(other); }
  Borrowed& operator=(Borrowed&& other) noexcept;

  /// Takes an array, or numbers and nested lists of them, which NumPy turns into an array of `dtype`. `place` is for
  /// messages: "input x".
  ///
  /// Raises InvalidType for what is not an array or has elements of a type that Berth does not have; InvalidArgument
  /// for another byte order, and for lists that do not fit `dtype`.
  static Borrowed take(nanobind::handle object, DType dtype, const std::string& place);
  /// The same for memory to write to: an array that may be written.
  static Borrowed take_writable(nanobind::handle object, const std::string& place);

  uint8_t* data() const { return data_; }
  bool writable() const { return writable_; }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }
  int rank() const { return rank_; }
  int64_t size(int dim) const { return sizes_[dim]; }
  /// In bytes.
  int64_t stride(int dim) const { return strides_[dim]; }
  Span<const int64_t> sizes() const { return {sizes_.data(), static_cast<size_t>(rank_)}; }
  int64_t numel() const;
  size_t nbytes() const { return numel() * element_size(dtype_); }
  /// "f32[1x3x224x224]", with " on cuda:0" where it is not on the host.
  std::string text() const;

  /// Whether the elements lie packed in this order of dimensions, outermost first; an empty one is row-major.
  bool is_packed(Span<const uint8_t> dim_order) const;
  /// Copies the elements, packed in this order. REQUIRES: is on the host; `to` has nbytes().
  void copy_to(uint8_t* to, Span<const uint8_t> dim_order) const;
  /// Copies elements that are packed in row-major order into the array. REQUIRES: writable, on the host.
  void copy_from(const uint8_t* from);

 private:
  static bool take_buffer(nanobind::handle object, const std::string& place, Borrowed* out);
  static bool take_dlpack(nanobind::handle object, const std::string& place, Borrowed* out);
  static bool take_bits(nanobind::handle object, const std::string& place, Borrowed* out);
  void narrow(DType dtype, const std::string& place);
  void reset();

  Py_buffer buffer_ = {};
  bool has_buffer_ = false;
  nanobind::ndarray<nanobind::ro> array_;
  uint8_t* data_ = nullptr;
  bool writable_ = false;
  DType dtype_ = DType::kF32;
  Device device_;
  int rank_ = 0;
  std::array<int64_t, kMaxRank> sizes_ = {};
  std::array<int64_t, kMaxRank> strides_ = {};
};

}  // namespace berth::python
