// DataLoader: reads the bytes of a program file. FreeableBuffer: a range of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.h"
#include "base/span.h"

namespace berth {

/// A range of bytes with a function to free them, called on destruction. Move-only.
class FreeableBuffer {
 public:
  /// Called at most once for a buffer.
  using FreeFunction = void (*)(void* context, const void* data, size_t size);

  FreeableBuffer() = default;
  /// `free` may be null: then nothing needs to be freed.
  FreeableBuffer(const void* data, size_t size, FreeFunction free = nullptr, void* context = nullptr)
      : data_(static_cast<const uint8_t*>(data)), size_(size), free_(free), context_(context) {}
  FreeableBuffer(FreeableBuffer&& other) noexcept { swap(other); }
  FreeableBuffer& operator=(FreeableBuffer&& other) noexcept {
    FreeableBuffer moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~FreeableBuffer() { free_now(); }

  /// Frees the bytes; the buffer is then empty. May be called again.
  void free_now() {
    if (free_ != nullptr) free_(context_, data_, size_);
    data_ = nullptr;
    size_ = 0;
    free_ = nullptr;
  }

  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  Span<const uint8_t> bytes() const { return {data_, size_}; }

 private:
  void swap(FreeableBuffer& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(free_, other.free_);
    std::swap(context_, other.context_);
  }

  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
  FreeFunction free_ = nullptr;
  void* context_ = nullptr;
};

/// Reads ranges of one program file. Thread-safe. Must outlive the Program that it loads.
class DataLoader {
 public:
  virtual ~DataLoader() = default;

  /// Exactly `size` bytes, starting at `offset`, at an address that is a multiple of 16 if the offset is.
  /// InvalidArgument outside of the file; AccessFailed when reading fails.
  virtual Result<FreeableBuffer> load(uint64_t offset, size_t size) const = 0;

  /// Copies `size` bytes, starting at `offset`, to `out`; errors as load().
  virtual Error load_into(uint64_t offset, size_t size, void* out) const = 0;

  /// Length of the file in bytes.
  virtual uint64_t size() const = 0;
};

/// Reads a file that the application holds in memory. Copies nothing: constants are used in place.
class BufferLoader final : public DataLoader {
 public:
  /// `file` must be aligned to 16 bytes, and outlive the loader and every Program loaded with it.
  explicit BufferLoader(Span<const uint8_t> file) : file_(file) {}

  Result<FreeableBuffer> load(uint64_t offset, size_t size) const override;
  Error load_into(uint64_t offset, size_t size, void* out) const override;
  uint64_t size() const override { return file_.size(); }

 private:
  Span<const uint8_t> file_;
};

}  // namespace berth
