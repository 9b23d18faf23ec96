// MappedFile: a regular file mapped for reading. Used by the compiler and by runtime/host/, not by the runtime's core.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/failure.h"
#include "base/span.h"

namespace berth {

class MappedFile {
 public:
  /// Maps the whole of the regular file `path`. NotFound or AccessFailed, with the system's message, otherwise. An
  /// empty file maps to an empty span.
  static Expected<std::shared_ptr<const MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  Span<const uint8_t> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

  /// Lets the system drop the pages of [offset, offset + size) from memory; reading them again loads them again. Pages
  /// that are only partly inside stay.
  void release(size_t offset, size_t size) const;

  /// The same for bytes that some MappedFile of this process has mapped; does nothing for other memory. Thread-safe.
  static void release_memory(Span<const uint8_t> bytes);

  /// Copies `bytes` to `to`. Bytes that a MappedFile of this process has mapped are read from the file, so that their
  /// pages do not become resident; other memory is copied. AccessFailed when the file cannot be read or has become
  /// shorter. Thread-safe; the file must stay mapped meanwhile.
  static Error read(Span<const uint8_t> bytes, void* to);

 private:
  MappedFile(std::string path, int descriptor, const uint8_t* data, size_t size);

  std::string path_;
  int descriptor_;
  const uint8_t* data_;
  size_t size_;
};

}  // namespace berth
