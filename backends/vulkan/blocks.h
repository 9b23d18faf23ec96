// Blocks: the memory that programs have on devices of this room, by address. Private to backends/vulkan/.
//
// An address is a number that never stands for two blocks: the block's serial number and an offset. So what was
// recorded for a block that is gone is never taken for another's; and it is not an address of the host's, so that host
// code that reads through it faults.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "backends/vulkan/gpu.h"

namespace berth::vulkan {

struct Block {
  Gpu* gpu = nullptr;
  Buffer buffer;
};

/// Bytes of a block.
struct Place {
  const Block* block = nullptr;
  uint64_t offset = 0;
};

/// Thread-safe. A Block stays where it is until it is removed.
class Blocks {
 public:
  Result<void*> add(Gpu* gpu, const Buffer& buffer);
  /// Takes the block that begins at `address` out; null when there is none.
  std::unique_ptr<Block> remove(void* address, const Gpu* gpu);
  /// The block that has all of [address, address + bytes) on `gpu`.
  bool find(const void* address, size_t bytes, const Gpu* gpu, Place* place) const;
  size_t size() const;
  /// Whether it is one of these addresses, and not one of the host's.
  static bool is_address(const void* address);

 private:
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, std::unique_ptr<Block>> blocks_;  // by serial number
  uint64_t last_ = 0;
};

}  // namespace berth::vulkan
