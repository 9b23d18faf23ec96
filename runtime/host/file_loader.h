// DataLoaders that read files.
#pragma once

#include <memory>

#include "base/result.h"
#include "format/report.h"
#include "runtime/data_loader.h"

namespace berth {

class MappedFile;

/// Maps the file: pages are read when they are first used, and constants are used in place. The file must not be
/// changed or truncated while it is mapped.
class MappedFileLoader final : public DataLoader {
 public:
  /// NotFound or AccessFailed, with the system's message in `report` (may be null).
  static Result<MappedFileLoader> open(const char* path, format::Report* report = nullptr);

  Result<FreeableBuffer> load(uint64_t offset, size_t size) const override;
  Error load_into(uint64_t offset, size_t size, void* out) const override;
  uint64_t size() const override;

 private:
  explicit MappedFileLoader(std::shared_ptr<const MappedFile> file) : file_(std::move(file)) {}

  std::shared_ptr<const MappedFile> file_;
};

/// Reads ranges of the file into heap memory. AccessFailed if the file has become shorter.
class FileLoader final : public DataLoader {
 public:
  static Result<FileLoader> open(const char* path, format::Report* report = nullptr);
  FileLoader(FileLoader&& other) noexcept : descriptor_(other.descriptor_), size_(other.size_) {
    other.descriptor_ = -1;
  }
  FileLoader& operator=(FileLoader&&) = delete;
  ~FileLoader() override;

  Result<FreeableBuffer> load(uint64_t offset, size_t size) const override;
  Error load_into(uint64_t offset, size_t size, void* out) const override;
  uint64_t size() const override { return size_; }

 private:
  FileLoader(int descriptor, uint64_t size) : descriptor_(descriptor), size_(size) {}

  int descriptor_;
  uint64_t size_;
};

}  // namespace berth
