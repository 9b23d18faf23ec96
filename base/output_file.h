// Writing files atomically: to a temporary file in the same folder, which is then renamed.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "base/failure.h"

namespace berth {

/// A file being written. Made by write_whole_file.
class OutputFile {
 public:
  OutputFile(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {}
  /// Appends `size` bytes. AccessFailed with the system's message, such as a full disk.
  Status write(const void* data, size_t size);

 private:
  std::string path_;
  std::FILE* file_;
};

/// Whether `path` exists and is not a regular file: a device, a pipe. Such a file is written in place.
bool is_special_file(const std::string& path);

/// InvalidArgument with `place` when writing `path` would overwrite one of the files `read`, also through links. A file
/// that does not exist yet is none of them.
Status keep_files(const std::vector<std::string>& read, const std::string& path, const std::string& place);

/// Writes `path` through `fill`: to a temporary file in the same folder, which is renamed to `path` if `fill`, every
/// write and then `check` (given the temporary's name; may be null) succeed, and removed otherwise. An existing file at
/// `path` is replaced only by a complete one, which has the old one's permissions; where `path` is a symbolic link, the
/// file that it leads to is replaced. A special file is written in place and not checked.
Status write_whole_file(const std::string& path, const std::function<Status(OutputFile&)>& fill,
                        const std::function<Status(const std::string&)>& check = nullptr);

}  // namespace berth
