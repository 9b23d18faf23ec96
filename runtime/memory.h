// Memory that the application brings. The runtime takes from it and from nowhere else.
//
//     alignas(16) static uint8_t method_memory[8192], arena[65536], temp[4096];
//     MemoryAllocator method(method_memory);
//     Span<uint8_t> arenas[] = {arena};
//     HierarchicalAllocator planned(arenas);
//     MemoryManager memory(method, planned, temp);
//
// How much each needs: MethodMeta (arenas) and Program::memory_needed (the other two).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/device.h"
#include "base/result.h"
#include "base/span.h"

namespace berth {

/// What the base address of each host arena is a multiple of, by contract with the program file.
constexpr size_t kArenaAlignment = 16;

/// Hands out pieces of one run of bytes, front to back, and takes none of them back but all at once. It owns nothing.
/// Not for several threads.
class MemoryAllocator {
 public:
  explicit MemoryAllocator(Span<uint8_t> memory) : memory_(memory) {}

  /// `bytes` bytes at a multiple of `alignment`, uninitialised; null when they do not fit, or when the alignment is no
  /// power of two. A request for 0 bytes gives a pointer that is not null.
  void* allocate(size_t bytes, size_t alignment = alignof(std::max_align_t));

  /// Room for `count` objects of type T, uninitialised; null as above, and when the size overflows.
  template <typename T>
  T* allocate_list(size_t count) {
    size_t bytes = 0;
    // NOLINTNEXTLINE(bugprone-sizeof-expression): T may be a pointer.
    if (__builtin_mul_overflow(count, sizeof(T), &bytes)) return nullptr;
    return static_cast<T*>(allocate(bytes, alignof(T)));
  }

  /// Takes everything back: what was handed out must no longer be used.
  void reset() { used_ = 0; }

  Span<uint8_t> memory() const { return memory_; }
  /// Bytes handed out, padding included.
  size_t used_size() const { return used_; }
  size_t free_size() const { return memory_.size() - used_; }
  /// What is not handed out yet.
  Span<uint8_t> rest() const { return {memory_.data() + used_, free_size()}; }

 private:
  Span<uint8_t> memory_;
  size_t used_ = 0;
};

/// The planned buffers (arenas) of one method. Arena i is the file's memory id i + 1. It only does arithmetic: it owns
/// nothing and frees nothing.
class HierarchicalAllocator {
 public:
  HierarchicalAllocator() = default;
  /// `arenas[i]` holds at least MethodMeta::memory_planned_buffer_size(i) bytes, at a multiple of kArenaAlignment if it
  /// is the host's. A null pointer with these bytes: the buffer gets its memory later (Method::set_planned_buffer);
  /// state cannot lie there. `devices` has an entry per arena, or none when all are the host's. Both spans (not only
  /// the memory) must outlive the load of the method.
  explicit HierarchicalAllocator(Span<const Span<uint8_t>> arenas, Span<const Device> devices = {})
      : arenas_(arenas), devices_(devices) {}
  /// The same; InvalidArgument when there are devices, and not as many as arenas. (Program::load_method refuses it
  /// too.)
  static Result<HierarchicalAllocator> make(Span<const Span<uint8_t>> arenas, Span<const Device> devices);

  size_t arenas() const { return arenas_.size(); }
  /// REQUIRES: index < arenas()
  Span<uint8_t> arena(size_t index) const { return arenas_[index]; }
  /// As given: empty when all arenas are the host's.
  Span<const Device> devices() const { return devices_; }
  Device device(size_t index) const { return index < devices_.size() ? devices_[index] : Device(); }

  /// The address of [offset, offset + bytes) in an arena; null when its memory comes later. InvalidArgument for an
  /// arena that is not there, MemoryAllocationFailed for bytes outside of it.
  Result<void*> address(size_t index, uint64_t offset, size_t bytes) const;

 private:
  Span<const Span<uint8_t>> arenas_;
  Span<const Device> devices_;
};

/// All the memory of one Method. The pieces must outlive the Method and must not overlap.
class MemoryManager {
 public:
  /// `method` holds the Method's own arrays; `planned` the arenas; `temp` what kernels take while one instruction runs
  /// (best at a multiple of 64). A method memory serves one Method at a time.
  MemoryManager(MemoryAllocator& method, const HierarchicalAllocator& planned, Span<uint8_t> temp = {})
      : method_(&method), planned_(&planned), temp_(temp) {}

  MemoryAllocator& method() const { return *method_; }
  const HierarchicalAllocator& planned() const { return *planned_; }
  Span<uint8_t> temp() const { return temp_; }

  /// Whether one of the arenas is not the host's.
  bool has_device_memory() const;
  Span<const Device> devices() const { return planned_->devices(); }

 private:
  MemoryAllocator* method_;
  const HierarchicalAllocator* planned_;
  Span<uint8_t> temp_;
};

}  // namespace berth
