#include "backends/vulkan/blocks.h"

namespace berth::vulkan {
namespace {

static_assert(sizeof(void*) == 8, "addresses of this room have 64 bits");

// The highest bit, 25 bits of serial number, 38 bits of offset.
constexpr uint64_t kMark = uint64_t{1} << 63;
constexpr int kOffsetBits = 38;
constexpr uint64_t kSerials = uint64_t{1} << 25;

}  // namespace

Result<void*> Blocks::add(Gpu* gpu, const Buffer& buffer) {
  if (buffer.bytes >> kOffsetBits != 0) return Error::kMemoryAllocationFailed;
  auto block = std::make_unique<Block>(Block{gpu, buffer});
  const std::lock_guard<std::mutex> lock(mutex_);
  // The last serial would look like an address of a kernel's.
  do {
    last_ = (last_ + 1) % (kSerials - 1);
  } while (blocks_.count(last_) != 0);
  blocks_.emplace(last_, std::move(block));
  return reinterpret_cast<void*>(kMark | last_ << kOffsetBits);
}

std::unique_ptr<Block> Blocks::remove(void* address, const Gpu* gpu) {
  const auto number = reinterpret_cast<uintptr_t>(address);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = blocks_.find((number & ~kMark) >> kOffsetBits);
  const bool begins = (number & kMark) != 0 && (number & ((uint64_t{1} << kOffsetBits) - 1)) == 0;
  if (!begins || found == blocks_.end() || found->second->gpu != gpu) return nullptr;
  std::unique_ptr<Block> block = std::move(found->second);
  blocks_.erase(found);
  return block;
}

bool Blocks::find(const void* address, size_t bytes, const Gpu* gpu, Place* place) const {
  const auto number = reinterpret_cast<uintptr_t>(address);
  if ((number & kMark) == 0) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = blocks_.find((number & ~kMark) >> kOffsetBits);
  if (found == blocks_.end() || found->second->gpu != gpu) return false;
  const uint64_t offset = number & ((uint64_t{1} << kOffsetBits) - 1);
  const uint64_t size = found->second->buffer.bytes;
  if (offset > size || bytes > size - offset) return false;
  *place = {found->second.get(), offset};
  return true;
}

bool Blocks::is_address(const void* address) { return (reinterpret_cast<uintptr_t>(address) & kMark) != 0; }

size_t Blocks::size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return blocks_.size();
}

}  // namespace berth::vulkan
