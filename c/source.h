// Files as berth_source describes them, for programs and data files; and their constants.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "c/handles.h"
#include "runtime/data_file.h"
#include "runtime/program.h"

namespace berth::c {

/// Reads through the function of a source.
class CallbackLoader final : public DataLoader {
 public:
  explicit CallbackLoader(const berth_source& source) : source_(source) {}

  Result<FreeableBuffer> load(uint64_t offset, size_t size) const override;
  Error load_into(uint64_t offset, size_t size, void* out) const override;
  uint64_t size() const override { return source_.length; }

  /// What the function said when it failed first; empty if it said nothing.
  std::string said() const;

 private:
  berth_source source_;
  mutable std::mutex mutex_;
  mutable berth_message said_ = {};
};

/// The loader of a source. Bytes take nothing from the heap.
class SourceLoader {
 public:
  /// InvalidArgument for a source that is nothing, or bytes that are misaligned; NotFound or AccessFailed for a file.
  Status open(const berth_source& source);
  const DataLoader& loader() const { return *loader_; }
  /// The path, or what the source is.
  const std::string& place() const { return place_; }
  /// A failure of what was read with it; says also what the source's own function said.
  Failure failure(Error code, const format::Report& report) const;

 private:
  std::optional<BufferLoader> buffer_;
  std::unique_ptr<DataLoader> other_;
  const CallbackLoader* callback_ = nullptr;
  const DataLoader* loader_ = nullptr;
  std::string place_;
};

/// The data files of a program. Empty at first, so that it can be given to the Program for which it is opened.
class DataSet final : public NamedDataMap {
 public:
  /// Opens these files in the place of those that it has, if all can be opened.
  Status open(const Program& program, const berth_source* sources, size_t count);
  /// The same for the one file beside `program_path`, if the program needs one.
  Status open_beside(const Program& program, const std::string& program_path);

  Result<FreeableBuffer> get(const char* key) const override;
  Error check(const char* key, DType dtype, Span<const int32_t> sizes, Span<const uint8_t> dim_order) const override;

 private:
  struct File {
    SourceLoader source;
    std::optional<DataFile> file;
  };

  std::vector<std::unique_ptr<File>> files_;
  const Program* program_ = nullptr;
};

/// A source as a path, for what reads files alone: the compiler and the tool's commands. Bytes lie in a file in memory,
/// which has a path as long as this lives.
class SourcePath {
 public:
  SourcePath() = default;
  SourcePath(SourcePath&& other) noexcept : path_(std::move(other.path_)), descriptor_(other.descriptor_) {
    other.descriptor_ = -1;
  }
  SourcePath& operator=(SourcePath&&) = delete;
  ~SourcePath();

  static Expected<SourcePath> make(const berth_source* source);
  const std::string& path() const { return path_; }
  /// `text` with "the bytes" where it has the path of a file in memory.
  std::string without_path(std::string text) const;

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace berth::c
