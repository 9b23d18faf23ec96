// HugePageBuffer: memory for megabytes that are written once, such as weights in another order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace berth {

class HugePagePool;

/// Bytes, aligned to 64. Large buffers are mapped from the system; whole blocks of 2 MiB request huge pages, which are
/// much faster to fault in: a page fault takes longer than writing the page. Pages become resident when they are
/// written.
class HugePageBuffer {
 public:
  HugePageBuffer() = default;
  ~HugePageBuffer();
  HugePageBuffer(HugePageBuffer&& other) noexcept;
  HugePageBuffer& operator=(HugePageBuffer&& other) noexcept;

  /// Allocates uninitialised memory; false when there is too little. REQUIRES: it was not called before.
  bool allocate(size_t bytes);
  /// The same from a pool, which need not live as long.
  bool allocate(size_t bytes, HugePagePool& pool);
  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }
  /// The same, of an element type that the caller keeps to.
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(data_);
  }
  size_t size() const { return size_; }

 private:
  void free();

  void* memory_ = nullptr;
  size_t mapped_ = 0;                            // bytes mapped at memory_; 0 if it is heap memory
  std::shared_ptr<const HugePageBuffer> chunk_;  // of a pool, which owns the memory instead
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

/// Memory for many buffers that live about as long as each other: they lie side by side, so that their ends are in huge
/// pages too. A chunk of it goes back to the system with the last buffer that lies there.
class HugePagePool {
 public:
  /// Bytes of a chunk: addresses, of which those become resident that are written.
  static constexpr size_t kChunk = size_t{64} << 20;
  /// Smaller buffers, and those larger than a chunk, are alone: a huge page takes longer to clear than small pages.
  static constexpr size_t kLeast = size_t{256} << 10;

  /// Takes the memory of `buffer`, which came last from this pool, for the next one; of other buffers nothing.
  void give_back(HugePageBuffer buffer);

 private:
  friend class HugePageBuffer;

  // Null when there is too little memory.
  uint8_t* take(size_t bytes);

  std::shared_ptr<HugePageBuffer> chunk_;
  size_t used_ = 0;
};

}  // namespace berth
