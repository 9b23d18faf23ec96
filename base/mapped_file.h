// MappedFile: a regular file mapped for reading. For the compiler and for host front ends; the runtime's core does not
// use it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/failure.h"
#include "base/span.h"

namespace berth {

class MappedFile {
 public:
  /// Maps the whole of the regular file `path`. The size is taken from the very descriptor that is mapped. NotFound or
  /// AccessFailed with the system's words otherwise. An empty file maps to an empty span.
  static Expected<std::shared_ptr<const MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  Span<const uint8_t> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

  /// Tells the system that the pages of [offset, offset + size) will not be read soon, so that they stop counting as
  /// resident. Reading them again is allowed and fetches them again. Pages only partly inside stay.
  void release(size_t offset, size_t size) const;

  /// The same for what lies in a file that some MappedFile of this process has mapped; nothing for other memory. From
  /// any thread.
  static void release_memory(Span<const uint8_t> bytes);

  /// Copies `bytes` to `to`, from the file where a MappedFile of this process has mapped them: their pages do not
  /// become resident. Other memory is copied as it is. AccessFailed when the file cannot be read, or has become
  /// shorter. From any thread; the file must stay mapped meanwhile.
  static Error read(Span<const uint8_t> bytes, void* to);

 private:
  MappedFile(std::string path, int descriptor, const uint8_t* data, size_t size);

  std::string path_;
  int descriptor_;
  const uint8_t* data_;
  size_t size_;
};

}  // namespace berth
