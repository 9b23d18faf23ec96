// Files that are whole or absent: written beside their place under another name, then renamed.
#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include "base/failure.h"

namespace berth {

/// A file being written. Made by write_whole_file.
class OutputFile {
 public:
  OutputFile(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {}
  /// Appends `size` bytes. AccessFailed with the system's words, such as a full disk.
  Status write(const void* data, size_t size);

 private:
  std::string path_;
  std::FILE* file_;
};

/// Writes `path` through `fill`: to a temporary in the same folder, renamed over `path` when `fill` and every write
/// succeeded, removed otherwise, so that what was at `path` before is lost only to a whole new file. A `path` that
/// exists and is no regular file (a device, a pipe) is written in place.
Status write_whole_file(const std::string& path, const std::function<Status(OutputFile&)>& fill);

}  // namespace berth
