// NamedDataMap: blobs by key, from wherever they lie: the program's own file, or data files beside it.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "base/result.h"
#include "runtime/data_loader.h"

namespace berth {

/// May be asked from several threads. Must outlive what was loaded with it.
class NamedDataMap {
 public:
  virtual ~NamedDataMap() = default;

  /// The bytes of `key` (null-terminated), at a multiple of 16; they stay until the buffer is given back. NotFound when
  /// there are none; AccessFailed or InvalidExternalData when they cannot be read.
  virtual Result<FreeableBuffer> get(const char* key) const = 0;

  /// Maps of the same identity give the same bytes for the same key, as long as one of them lives.
  virtual const void* identity() const { return this; }

  /// Whether the blob under `key` may be used as a tensor of this type, sizes and dimension order: InvalidExternalData
  /// when the map knows that it is another. Ok otherwise, also when there is no such blob.
  virtual Error check(const char* key, DType dtype, Span<const int32_t> sizes, Span<const uint8_t> dim_order) const {
    static_cast<void>(key);
    static_cast<void>(dtype);
    static_cast<void>(sizes);
    static_cast<void>(dim_order);
    return Error::kOk;
  }
};

}  // namespace berth
