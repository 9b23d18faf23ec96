// BlobSet: blobs with equal bytes once.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "compiler/ir/blob.h"

namespace berth::ir {

/// Bytes are compared only where size and samples agree, so that weights that nothing equals stay unread. Blobs are
/// shared, not copied, and the pages of mapped ones that were read are let go.
class BlobSet {
 public:
  /// The number of `blob`, from 1; the number of an equal one when there is one already.
  uint32_t add(const Blob& blob);

  /// Everything added, once, in order of number.
  std::vector<Blob> take() &&;

 private:
  struct Entry {
    Blob blob;
    uint64_t hash = 0;  // of all bytes
    bool hashed = false;
  };
  static uint64_t full_hash(Entry& entry);

  std::vector<Entry> entries_;
  std::unordered_map<uint64_t, std::vector<uint32_t>> by_sample_;  // hash of size and samples → numbers
};

}  // namespace berth::ir
