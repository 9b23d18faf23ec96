// The application provides all memory of a Method through these classes; the runtime allocates nothing elsewhere.
//
//     alignas(16) static uint8_t method_memory[8192], arena[65536], temp[4096];
//     MemoryAllocator method(method_memory);
//     Span<uint8_t> arenas[] = {arena};
//     HierarchicalAllocator planned(arenas);
//     MemoryManager memory(method, planned, temp);
//
// Sizes: MethodMeta has those of the arenas, Program::memory_needed() the other two.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/device.h"
#include "base/result.h"
#include "base/span.h"

namespace berth {

/// The alignment of each host arena, which program files rely on.
constexpr size_t kArenaAlignment = 16;

/// Allocates from one block of bytes, front to back; frees only everything at once. Does not own the block. Not
/// thread-safe.
class MemoryAllocator {
 public:
  explicit MemoryAllocator(Span<uint8_t> memory) : memory_(memory) {}

  /// `bytes` bytes at a multiple of `alignment`, uninitialised; null when they do not fit, or when the alignment is not
  /// a power of two. A request for 0 bytes returns a pointer that is not null.
  void* allocate(size_t bytes, size_t alignment = alignof(std::max_align_t));

  /// Room for `count` objects of type T, uninitialised; null as above, and when the size overflows.
  template <typename T>
  T* allocate_list(size_t count) {
    size_t bytes = 0;
    // NOLINTNEXTLINE(bugprone-sizeof-expression): T may be a pointer.
    if (__builtin_mul_overflow(count, sizeof(T), &bytes)) return nullptr;
    return static_cast<T*>(allocate(bytes, alignof(T)));
  }

  /// Frees everything that was allocated.
  void reset() { used_ = 0; }

  Span<uint8_t> memory() const { return memory_; }
  /// Bytes allocated, padding included.
  size_t used_size() const { return used_; }
  size_t free_size() const { return memory_.size() - used_; }
  /// The memory that is still free.
  Span<uint8_t> rest() const { return {memory_.data() + used_, free_size()}; }

 private:
  Span<uint8_t> memory_;
  size_t used_ = 0;
};

/// The arenas of one method (ExecuTorch's planned buffers). Arena i is the file's memory id i + 1. Only computes
/// addresses: does not own the memory.
class HierarchicalAllocator {
 public:
  HierarchicalAllocator() = default;
  /// `arenas[i]` holds at least MethodMeta::memory_planned_buffer_size(i) bytes, at a multiple of kArenaAlignment if it
  /// is the host's. A null pointer with this size: the arena is deferred, and gets its memory later
  /// (Method::set_planned_buffer); it cannot hold state. `devices` has one entry for each arena, or is empty when all
  /// are on the host. Both spans themselves, and not only the memory, must outlive load_method().
  explicit HierarchicalAllocator(Span<const Span<uint8_t>> arenas, Span<const Device> devices = {})
      : arenas_(arenas), devices_(devices) {}
  /// The same; InvalidArgument when `devices` is neither empty nor as long as `arenas`. (Program::load_method checks
  /// this too.)
  static Result<HierarchicalAllocator> make(Span<const Span<uint8_t>> arenas, Span<const Device> devices);

  size_t arenas() const { return arenas_.size(); }
  /// REQUIRES: index < arenas()
  Span<uint8_t> arena(size_t index) const { return arenas_[index]; }
  /// As given: empty when all arenas are on the host.
  Span<const Device> devices() const { return devices_; }
  Device device(size_t index) const { return index < devices_.size() ? devices_[index] : Device(); }

  /// The address of [offset, offset + bytes) in an arena; null when the arena is deferred. InvalidArgument for an arena
  /// that does not exist and for a sum that overflows, MemoryAllocationFailed for bytes outside of the arena.
  Result<void*> address(size_t index, uint64_t offset, size_t bytes) const;

 private:
  Span<const Span<uint8_t>> arenas_;
  Span<const Device> devices_;
};

/// A function that is told how many bytes of an arena are needed at new sizes. The bytes behind them are not used, so
/// that their pages may be given back to the system.
struct ArenaFollower {
  void (*call)(void* context, size_t arena, uint64_t bytes) = nullptr;
  void* context = nullptr;
};

/// All memory of one Method. Its parts must outlive the Method and must not overlap.
class MemoryManager {
 public:
  /// `method` holds the Method's own arrays, `planned` the arenas, and `temp` is scratch memory of kernels while one
  /// instruction runs (best aligned to 64). The memory serves one Method at a time.
  MemoryManager(MemoryAllocator& method, const HierarchicalAllocator& planned, Span<uint8_t> temp = {})
      : method_(&method), planned_(&planned), temp_(temp) {}

  MemoryAllocator& method() const { return *method_; }
  const HierarchicalAllocator& planned() const { return *planned_; }
  Span<uint8_t> temp() const { return temp_; }

  /// Whether any arena is on a device other than the host.
  bool has_device_memory() const;
  Span<const Device> devices() const { return planned_->devices(); }

 private:
  MemoryAllocator* method_;
  const HierarchicalAllocator* planned_;
  Span<uint8_t> temp_;
};

}  // namespace berth
