// SimAllocator: memory, mapped twice, and its allocations.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "backends/sim/sim_allocator.h"
#include "runtime/log.h"

#if defined(__SANITIZE_ADDRESS__)
#define BERTH_SIM_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BERTH_SIM_POISON 1
#endif
#endif
#ifdef BERTH_SIM_POISON
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) (static_cast<void>(address), static_cast<void>(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) (static_cast<void>(address), static_cast<void>(size))
#endif

namespace berth {

namespace {

// Both mappings have this alignment, so that an address aligned in one is aligned in the other.
constexpr uint64_t kMappingAlignment = uint64_t{1} << 21;
// The gap after each allocation.
constexpr uint64_t kGuardBytes = 64;
constexpr uint64_t kLargestFilled = uint64_t{1} << 22;
constexpr uint64_t kPage = 4096;

uint64_t round_up(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

uint64_t footprint(uint64_t bytes) { return round_up(bytes, kGuardBytes) + kGuardBytes; }

// Maps `bytes` bytes of `file` at a multiple of kMappingAlignment; null when there is no address space.
uint8_t* map_aligned(int file, uint64_t bytes, int protection) {
  const uint64_t reserved = bytes + kMappingAlignment;
  void* reservation = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reservation == MAP_FAILED) return nullptr;
  uint8_t* begin = static_cast<uint8_t*>(reservation);
  uint8_t* aligned = begin + (-reinterpret_cast<uintptr_t>(begin) & (kMappingAlignment - 1));
  uint8_t* const end = begin + reserved;
  if (aligned > begin) munmap(begin, aligned - begin);
  if (aligned + bytes < end) munmap(aligned + bytes, end - (aligned + bytes));
  if (mmap(aligned, bytes, protection, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, 0) != MAP_FAILED) return aligned;
  munmap(aligned, bytes);
  return nullptr;
}

}  // namespace

SimAllocator::SimAllocator(const SimOptions& options)
    : options_({std::clamp(options.device_count, 1, 127),
                round_up(std::max<uint64_t>(options.bytes_per_device, 1), kPage), options.streams, options.times,
                options.late_copies}),
      memories_(options_.device_count) {}

SimAllocator::~SimAllocator() {
  for (Memory& memory : memories_) unmap(memory);
}

Error SimAllocator::map(Memory& memory) const {
  if (memory.visible != nullptr) return Error::kOk;
  memory.file = memfd_create("berth sim device", MFD_CLOEXEC);
  if (memory.file >= 0 && ftruncate(memory.file, static_cast<off_t>(options_.bytes_per_device)) == 0) {
    memory.visible = map_aligned(memory.file, options_.bytes_per_device, PROT_NONE);
    memory.alias = map_aligned(memory.file, options_.bytes_per_device, PROT_READ | PROT_WRITE);
  }
  if (memory.visible != nullptr && memory.alias != nullptr) return Error::kOk;
  unmap(memory);
  log_message(LogLevel::kError, "sim: this machine cannot map %llu bytes twice",
              static_cast<unsigned long long>(options_.bytes_per_device));
  return Error::kMemoryAllocationFailed;
}

void SimAllocator::unmap(Memory& memory) const {
  if (memory.visible != nullptr) munmap(memory.visible, options_.bytes_per_device);
  if (memory.alias != nullptr) {
    ASAN_UNPOISON_MEMORY_REGION(memory.alias, memory.end);
    munmap(memory.alias, options_.bytes_per_device);
  }
  if (memory.file >= 0) close(memory.file);
  memory.visible = memory.alias = nullptr;
  memory.file = -1;
}

// First fit. There are few allocations, since this device is for tests.
bool SimAllocator::find_gap(const Memory& memory, uint64_t bytes, uint64_t alignment, uint64_t* offset) const {
  const uint64_t base = reinterpret_cast<uintptr_t>(memory.visible);
  const uint64_t needed = footprint(bytes);
  const auto place = [&](uint64_t begin) { return round_up(base + begin, alignment) - base; };
  *offset = place(0);
  for (const auto& [begin, size] : memory.blocks) {
    if (*offset <= begin && needed <= begin - *offset) return true;
    *offset = place(std::max(*offset, begin + footprint(size)));
  }
  return *offset <= options_.bytes_per_device && needed <= options_.bytes_per_device - *offset;
}

Result<void*> SimAllocator::allocate(size_t bytes, DeviceIndex index, size_t alignment) {
  const std::lock_guard lock(mutex_);
  BERTH_RETURN_IF_ERROR(count(SimCall::kAllocate));
  const bool aligns = alignment != 0 && (alignment & (alignment - 1)) == 0;
  if (!has(index) || !aligns) {
    log_message(LogLevel::kError, "sim: no %zu bytes at a multiple of %zu on device %d of %d", bytes, alignment, index,
                options_.device_count);
    return Error::kInvalidArgument;
  }
  Memory& memory = memories_[index];
  uint64_t offset = 0;
  if (bytes > options_.bytes_per_device || alignment > options_.bytes_per_device) {
    return Error::kMemoryAllocationFailed;
  }
  BERTH_RETURN_IF_ERROR(map(memory));
  if (!find_gap(memory, bytes, alignment, &offset)) return Error::kMemoryAllocationFailed;
  memory.blocks[offset] = bytes;
  memory.end = std::max(memory.end, offset + footprint(bytes));
  ++memory.counts.allocations;
  uint8_t* alias = memory.alias + offset;
  ASAN_POISON_MEMORY_REGION(alias, footprint(bytes));
  ASAN_UNPOISON_MEMORY_REGION(alias, bytes);
  if (bytes > 0 && bytes <= kLargestFilled) std::memset(alias, 0xff, bytes);
  return static_cast<void*>(memory.visible + offset);
}

void SimAllocator::deallocate(void* address, DeviceIndex index) {
  if (address == nullptr) return;
  const std::lock_guard lock(mutex_);
  Memory* memory = has(index) ? &memories_[index] : nullptr;
  const uint64_t offset =
      memory == nullptr ? 0 : reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(memory->visible);
  const auto block = memory == nullptr ? std::map<uint64_t, uint64_t>::iterator() : memory->blocks.find(offset);
  if (memory == nullptr || block == memory->blocks.end()) {
    ++bad_deallocations_;
    log_message(LogLevel::kError, "sim: device %d was given back %p, which it did not allocate", index, address);
    return;
  }
  order_.forget(reinterpret_cast<uintptr_t>(address), block->second);
  ASAN_POISON_MEMORY_REGION(memory->alias + offset, footprint(block->second));
  const uint64_t begin = round_up(offset, kPage);
  const uint64_t end = (offset + block->second) / kPage * kPage;
  // Returns the pages to the system; a failure only costs memory.
  if (begin < end) {
    static_cast<void>(fallocate(memory->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
                                static_cast<off_t>(end - begin)));
  }
  memory->blocks.erase(block);
  ++memory->counts.deallocations;
}

uint8_t* SimAllocator::find(const void* address, size_t bytes, DeviceIndex index) const {
  if (!has(index)) return nullptr;
  const Memory& memory = memories_[index];
  const uint64_t offset = reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(memory.visible);
  auto after = memory.blocks.upper_bound(offset);
  if (memory.visible == nullptr || after == memory.blocks.begin()) return nullptr;
  const auto& [begin, size] = *--after;
  if (offset - begin > size || bytes > size - (offset - begin)) return nullptr;
  return memory.alias + offset;
}

bool SimAllocator::is_visible(const void* address, size_t bytes) const {
  const uintptr_t a = reinterpret_cast<uintptr_t>(address);
  for (const Memory& memory : memories_) {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(memory.visible);
    if (memory.visible != nullptr && a < begin + options_.bytes_per_device && bytes > 0 && a + (bytes - 1) >= begin) {
      return true;
    }
  }
  return false;
}

void* SimAllocator::alias(const void* address, size_t bytes, DeviceIndex index) const {
  const std::lock_guard lock(mutex_);
  return find(address, bytes, index);
}

bool SimAllocator::is_device_address(const void* address) const {
  const std::lock_guard lock(mutex_);
  return is_visible(address, 1);
}

}  // namespace berth
