// Writing files atomically: to a temporary file in the same folder, which is then renamed.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/failure.h"
#include "base/huge_page_buffer.h"

namespace berth {

/// A file being written. Made by write_whole_file.
class OutputFile {
 public:
  /// `file` is an open descriptor, which stays the caller's; errors name `path`.
  OutputFile(std::string path, int file) : path_(std::move(path)), file_(file) {}
  /// Appends `size` bytes, some of which may be in the file only after flush(). AccessFailed with the system's message,
  /// such as a full disk.
  Status write(const void* data, size_t size);
  /// Puts what was written into the file. Errors as of write().
  Status flush();

 private:
  Status make_room();
  Status put(const uint8_t* data, size_t size);

  std::string path_;
  int file_;
  HugePageBuffer buffer_;
  size_t filled_ = 0;  // bytes of buffer_
};

/// Whether `path` exists and is not a regular file: a device, a pipe, or a descriptor of this process (/dev/stdout),
/// whatever is behind it. Such a file is written in place, behind what was written there.
bool is_special_file(const std::string& path);

/// Whether `path` is another name of the standard output.
bool is_standard_output(const std::string& path);

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
