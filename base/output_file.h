// Files that are whole or absent: written beside their place under another name, then renamed.
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
  /// Appends `size` bytes. AccessFailed with the system's words, such as a full disk.
  Status write(const void* data, size_t size);

 private:
  std::string path_;
  std::FILE* file_;
};

/// Whether `path` exists and is no regular file: a device, a pipe. Such a file is written in place.
bool is_special_file(const std::string& path);

/// InvalidArgument with `place` when `path` is the very file of one of `read`, through links too: what was read would
/// be lost. A file that does not exist is another.
Status keep_files(const std::vector<std::string>& read, const std::string& path, const std::string& place);

/// Writes `path` through `fill`: to a temporary in the same folder, renamed over `path` when `fill`, every write and
/// then `check` (given the temporary's name; may be null) succeeded, and removed otherwise. So what was at `path`
/// before is lost only to a whole new file. A special file is written in place and not checked.
Status write_whole_file(const std::string& path, const std::function<Status(OutputFile&)>& fill,
                        const std::function<Status(const std::string&)>& check = nullptr);

}  // namespace berth
