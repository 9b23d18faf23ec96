// Blob: the bytes of a constant, wherever they are: in the mapped model file, in memory, or one repeated element.
//
// Blobs are values: copying one shares the bytes, which never change. Weights stay in the mapped file until the emitter
// streams them out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/span.h"

namespace berth {
class HugePageBuffer;  // base/huge_page_buffer.h
}

namespace berth::ir {

class Blob {
 public:
  /// Empty.
  Blob() = default;
  static Blob owned(std::vector<uint8_t> bytes);
  static Blob owned_buffer(HugePageBuffer bytes);
  /// REQUIRES: the range lies within the file.
  static Blob mapped(std::shared_ptr<const MappedFile> file, size_t offset, size_t size);
  /// `count` times the bytes of `element`. REQUIRES: 1 <= element.size() <= 16.
  static Blob splat(Span<const uint8_t> element, size_t count);

  size_t size() const { return size_; }
  bool is_splat() const { return element_size_ != 0; }
  bool is_mapped() const { return file_ != nullptr; }

  /// The bytes, in memory or in the mapped file. REQUIRES: !is_splat().
  Span<const uint8_t> bytes() const;
  /// All bytes, whatever the kind: where they are, or written out to `*room`.
  Span<const uint8_t> bytes_or_copy(std::vector<uint8_t>* room) const;
  /// The repeated element. REQUIRES: is_splat().
  Span<const uint8_t> element() const;
  /// REQUIRES: is_mapped().
  const MappedFile& file() const { return *file_; }
  size_t file_offset() const { return offset_; }

  /// Copies [offset, offset + out.size()) to `out`, whatever the kind. REQUIRES: the range lies within the blob.
  void read(size_t offset, Span<uint8_t> out) const;
  /// All bytes as a vector.
  std::vector<uint8_t> to_vector() const;
  /// Lets the system drop the pages of a mapped blob (MappedFile::release). Does nothing for other kinds.
  void release() const;

  /// Whether both hold the same bytes.
  static bool equal(const Blob& a, const Blob& b);

 private:
  std::shared_ptr<const void> owner_;  // of bytes_; null for a mapped one
  const uint8_t* bytes_ = nullptr;
  std::shared_ptr<const MappedFile> file_;
  size_t offset_ = 0;
  size_t size_ = 0;
  uint8_t element_[16] = {};
  uint8_t element_size_ = 0;
};

}  // namespace berth::ir
