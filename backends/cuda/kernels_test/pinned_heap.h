// PinnedHeap: what a test takes from the heap, in memory that a GPU reaches at the host's addresses.
//
// Blocks of powers of two out of large slabs, given back to lists by their size; or, for compute-sanitizer, which sees
// an access beyond a block of the driver's and not one beyond a part of it, each block from the driver, exactly as
// large as was asked for.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <mutex>

namespace berth::cuda {

class PinnedHeap {
 public:
  enum class Blocks { kPlain, kShared, kExact };

  /// Until then memory is the system's: static objects are made before the CUDA runtime may be called.
  void begin(Blocks blocks) { blocks_ = blocks; }

  /// Null when there is too little memory.
  void* take(size_t bytes) {
    const Blocks blocks = blocks_;
    // The CUDA runtime may itself take memory while it allocates.
    if (blocks == Blocks::kPlain || inside()) return plain(bytes);
    if (blocks == Blocks::kExact) return exact(bytes);
    int size_class = kSmallest;
    while (size_class < kLargest && size_t{1} << size_class < bytes + kHeader) ++size_class;
    if (size_t{1} << size_class < bytes + kHeader) return nullptr;
    const std::lock_guard<std::mutex> lock(mutex_);
    Block* block = lists_[size_class];
    if (block != nullptr) {
      lists_[size_class] = block->next;
    } else {
      block = cut(size_t{1} << size_class);
      if (block == nullptr) return nullptr;
    }
    return behind(block, size_class);
  }

  void give_back(void* memory) {
    if (memory == nullptr) return;
    auto* block = reinterpret_cast<Block*>(static_cast<char*>(memory) - kHeader);
    if (block->size_class == kPlain) return std::free(block);
    if (block->size_class == kExact) {
      const Inside guard;
      if (cudaFreeHost(block) != cudaSuccess) static_cast<void>(cudaGetLastError());
      return;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    block->next = lists_[block->size_class];
    lists_[block->size_class] = block;
  }

 private:
  struct Block {
    Block* next;
    int size_class;
  };
  static constexpr size_t kHeader = 64;  // keeps the alignment of operator new, and more
  static constexpr int kSmallest = 7;
  static constexpr int kLargest = 30;
  static constexpr int kPlain = -1;
  static constexpr int kExact = -2;
  static constexpr size_t kSlab = size_t{128} << 20;

  static bool& inside() {
    static thread_local bool flag = false;
    return flag;
  }
  struct Inside {
    Inside() { inside() = true; }
    ~Inside() { inside() = false; }
  };

  static void* behind(Block* block, int size_class) {
    block->size_class = size_class;
    return reinterpret_cast<char*>(block) + kHeader;
  }

  static void* plain(size_t bytes) {
    const size_t whole = (bytes + kHeader + 63) / 64 * 64;
    auto* block = static_cast<Block*>(std::aligned_alloc(64, whole));
    return block == nullptr ? nullptr : behind(block, kPlain);
  }

  static void* pinned(size_t bytes) {
    const Inside guard;
    void* memory = nullptr;
    if (cudaHostAlloc(&memory, bytes, cudaHostAllocMapped) == cudaSuccess) return memory;
    static_cast<void>(cudaGetLastError());
    return nullptr;
  }

  static void* exact(size_t bytes) {
    auto* block = static_cast<Block*>(pinned(bytes + kHeader));
    return block == nullptr ? plain(bytes) : behind(block, kExact);
  }

  Block* cut(size_t bytes) {
    if (bytes > left_) {
      const size_t slab = bytes > kSlab ? bytes : kSlab;
      void* memory = pinned(slab);
      if (memory == nullptr) memory = std::aligned_alloc(128, slab);
      if (memory == nullptr) return nullptr;
      at_ = static_cast<char*>(memory);
      left_ = slab;
    }
    auto* block = reinterpret_cast<Block*>(at_);
    at_ += bytes;
    left_ -= bytes;
    return block;
  }

  std::atomic<Blocks> blocks_{Blocks::kPlain};
  std::mutex mutex_;
  char* at_ = nullptr;
  size_t left_ = 0;
  Block* lists_[kLargest + 1] = {};
};

}  // namespace berth::cuda
