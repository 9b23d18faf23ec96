// NamedDataMap: blobs by key, from wherever they lie: the program's own file, or data files beside it.
#pragma once

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
};

}  // namespace berth
