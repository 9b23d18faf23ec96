// HostArenas: computes what is needed, then allocates all of it.

#include <cinttypes>

#include "base/math.h"
#include "runtime/host/host_method.h"

namespace berth {
namespace {

// A file may ask for any alignment; more than a page has no meaning here.
size_t usable_alignment(size_t alignment) {
  return alignment <= 4096 && is_power_of_two(alignment) ? alignment : kArenaAlignment;
}

Error check_device(const Program& program, Device device, size_t index, Report* report) {
  if (device.is_cpu()) return Error::kOk;
  DeviceAllocator* allocator = program.registry().get_allocator(device.type);
  if (allocator != nullptr && device.index >= 0 && device.index < allocator->device_count()) return Error::kOk;
  return format::fail(report, Error::kNotFound, "arenas", "arena %zu is on %s, which this process does not have",
                      index + 1, to_text(device).text);
}

}  // namespace

const HostArenas::Arena* HostArenas::find(size_t index, Device device) const {
  for (const Arena& arena : arenas_) {
    if (arena.index == index && arena.device == device) return &arena;
  }
  return nullptr;
}

Error HostArenas::want(const MethodMeta& meta) {
  for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    BERTH_ASSIGN_OR_RETURN(const uint64_t bytes, meta.memory_planned_buffer_size(i));
    BERTH_ASSIGN_OR_RETURN(const Device device, meta.memory_planned_buffer_device(i));
    const size_t alignment = usable_alignment(meta.memory_planned_buffer_alignment(i));
    Arena* arena = const_cast<Arena*>(find(i, device));
    if (arena == nullptr) {
      arenas_.emplace_back();
      arena = &arenas_.back();
      arena->index = i;
      arena->device = device;
    }
    if (bytes > arena->bytes) arena->bytes = bytes;
    if (alignment > arena->alignment) arena->alignment = alignment;
  }
  return Error::kOk;
}

Error HostArenas::take(const Program& program, Report* report) {
  for (const Arena& arena : arenas_) {
    BERTH_RETURN_IF_ERROR(check_device(program, arena.device, arena.index, report));
  }
  for (Arena& arena : arenas_) {
    Error error = arena.bytes > SIZE_MAX ? Error::kMemoryAllocationFailed : Error::kOk;
    const size_t bytes = arena.bytes;
    if (error == Error::kOk && arena.device.is_cpu()) {
      Result<HostBuffer> host = HostBuffer::make(bytes, arena.alignment);
      if (host.ok()) arena.host = std::move(*host);
      if (!host.ok()) error = host.error();
    } else if (error == Error::kOk && bytes > 0) {
      auto memory = DeviceMemoryBuffer::create(bytes, arena.device, arena.alignment, program.registry());
      if (memory.ok()) arena.memory = std::move(*memory);
      if (!memory.ok()) error = memory.error();
    }
    if (error == Error::kOk) continue;
    return format::fail(report, error, "arenas", "%" PRIu64 " bytes cannot be allocated on %s for arena %zu",
                        arena.bytes, to_text(arena.device).text, arena.index + 1);
  }
  return Error::kOk;
}

Error HostArenas::want_all(const Program& program) {
  for (size_t m = 0; m < program.num_methods(); ++m) {
    BERTH_ASSIGN_OR_RETURN(const MethodMeta meta, program.method_meta(m));
    BERTH_RETURN_IF_ERROR(want(meta));
  }
  return Error::kOk;
}

uint64_t HostArenas::wanted() const {
  uint64_t sum = 0;
  for (const Arena& arena : arenas_) {
    if (!checked_add(sum, arena.bytes, &sum)) return UINT64_MAX;
  }
  return sum;
}

Result<uint64_t> HostArenas::bytes(const Program& program) {
  HostArenas arenas;
  BERTH_RETURN_IF_ERROR(arenas.want_all(program));
  return arenas.wanted();
}

Result<uint64_t> HostArenas::bytes(const Program& program, const char* method) {
  HostArenas arenas;
  BERTH_ASSIGN_OR_RETURN(const MethodMeta meta, program.method_meta(method));
  BERTH_RETURN_IF_ERROR(arenas.want(meta));
  return arenas.wanted();
}

Result<HostArenas> HostArenas::make(const Program& program, Report* report) {
  HostArenas arenas;
  BERTH_RETURN_IF_ERROR(arenas.want_all(program));
  BERTH_RETURN_IF_ERROR(arenas.take(program, report));
  return arenas;
}

Result<HostArenas> HostArenas::make(const Program& program, const char* method, Report* report) {
  HostArenas arenas;
  BERTH_ASSIGN_OR_RETURN(const MethodMeta meta, program.method_meta(method));
  BERTH_RETURN_IF_ERROR(arenas.want(meta));
  BERTH_RETURN_IF_ERROR(arenas.take(program, report));
  return arenas;
}

HostArenas::View HostArenas::view(const MethodMeta& meta) const {
  View view;
  for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    const Result<Device> device = meta.memory_planned_buffer_device(i);
    const Arena* arena = device.ok() ? find(i, *device) : nullptr;
    view.spans.push_back(arena == nullptr ? Span<uint8_t>() : arena->span());
    view.devices.push_back(device.ok() ? *device : Device());
  }
  return view;
}

}  // namespace berth
