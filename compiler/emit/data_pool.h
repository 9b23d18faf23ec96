// DataPool: the deduplicated constants (or initial values) of a program.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "compiler/ir/blob.h"
#include "format/write/sink.h"

namespace berth::emit {

/// The bytes of `blob`, which is shared, not copied, and let go once written where it is mapped; one zero where it has
/// none.
format::Bytes bytes_of(ir::Blob blob);

class DataPool {
 public:
  /// The number of `blob` in the file, from 1; the number of an equal one when there is one already. Bytes are compared
  /// only where size and samples agree, so that weights that nothing equals stay unread.
  uint32_t add(const ir::Blob& blob);

  /// Everything added, in order of number. The blobs are shared, not copied; mapped ones are let go once written.
  std::vector<format::Bytes> take() &&;

 private:
  struct Entry {
    ir::Blob blob;
    uint64_t hash = 0;  // of all bytes
    bool hashed = false;
  };
  uint64_t full_hash(Entry& entry);

  std::vector<Entry> entries_;
  std::unordered_map<uint64_t, std::vector<uint32_t>> by_sample_;  // hash of size and samples → numbers
};

}  // namespace berth::emit
