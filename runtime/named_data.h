// NamedDataMap: blobs by key, from the program's own file or from data files.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "base/result.h"
#include "runtime/data_loader.h"

namespace berth {

/// Thread-safe. Must outlive every Program that was loaded with it.
class NamedDataMap {
 public:
  virtual ~NamedDataMap() = default;

  /// The blob of `key` (null-terminated), at a multiple of 16, valid until the buffer is freed. NotFound when there is
  /// none; AccessFailed or InvalidExternalData when it cannot be read.
  virtual Result<FreeableBuffer> get(const char* key) const = 0;

  /// Maps with the same identity return the same bytes for the same key, as long as one of them lives.
  virtual const void* identity() const { return this; }

  /// Checks that the blob of `key` can be used as a tensor of this type, sizes and dimension order: InvalidExternalData
  /// when it is known to be different. Ok otherwise, also when there is no such blob.
  virtual Error check(const char* key, DType dtype, Span<const int32_t> sizes, Span<const uint8_t> dim_order) const {
    static_cast<void>(key);
    static_cast<void>(dtype);
    static_cast<void>(sizes);
    static_cast<void>(dim_order);
    return Error::kOk;
  }
};

}  // namespace berth
