// DataPool: the deduplicated constants (or initial values) of a program.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/blob_set.h"
#include "format/write/sink.h"

namespace berth::emit {

/// The bytes of `blob`, which is shared, not copied, and let go once written where it is mapped; one zero where it has
/// none.
format::Bytes bytes_of(ir::Blob blob);

class DataPool {
 public:
  /// The number of `blob` in the file, from 1; the number of an equal one when there is one already (BlobSet).
  uint32_t add(const ir::Blob& blob) { return blobs_.add(blob); }

  /// Everything added, in order of number. The blobs are shared, not copied; mapped ones are let go once written.
  std::vector<format::Bytes> take() &&;

 private:
  ir::BlobSet blobs_;
};

}  // namespace berth::emit
