// A method's devices: finding them, their streams, checking arenas, and copies for loading and for inputs.

#include <cinttypes>
#include <cstring>

#include "format/tensor_facts.h"
#include "runtime/method_loader.h"

namespace berth::internal {

using format::length;
using format::text;

Result<FreeableBuffer> ProgramBlobs::get(const char* key) const { return program_->blob(key); }

Error MethodLoader::find_device(Device device, const char* what, size_t index) {
  device = devices_(device);
  if (device.is_cpu()) return Error::kOk;
  for (size_t i = 0; i < use_count_; ++i) {
    if (uses_[i].device == device) return Error::kOk;
  }
  if (use_count_ == kMaxMethodDevices) {
    return fail(Error::kNotSupported, what, index, "a method uses at most %zu devices", kMaxMethodDevices);
  }
  DeviceAllocator* allocator = program_.registry().get_allocator(device.type);
  if (allocator == nullptr) {
    return fail(Error::kNotFound, what, index, "%s is used, but no allocator is registered for its type",
                to_text(device).text);
  }
  const int count = allocator->device_count();
  if (device.index < 0 || device.index >= count) {
    return fail(Error::kNotFound, what, index, "%s is used, but this machine has %d devices of its type",
                to_text(device).text, count);
  }
  uses_[use_count_++] = {device, allocator, nullptr};
  return Error::kOk;
}

Error MethodLoader::check_devices(MethodCounts* counts) {
  use_count_ = 0;
  for (uint32_t i = 1; i < length(plan_.non_const_buffer_sizes()); ++i) {
    BERTH_RETURN_IF_ERROR(find_device(format::arena_device(plan_, i), "arenas", i - 1));
  }
  for (size_t i = 0; i < counts->values; ++i) {
    const fb::Tensor* tensor = format::tensor_at(plan_, static_cast<int64_t>(i));
    if (tensor != nullptr) BERTH_RETURN_IF_ERROR(find_device(format::tensor_device(*tensor), "values", i));
  }
  for (size_t i = 0; i < counts->delegates; ++i) BERTH_RETURN_IF_ERROR(check_delegate(i));
  counts->devices = use_count_;
  count_stacks(counts);
  return Error::kOk;
}

Error MethodLoader::check_arenas(const MemoryManager& memory) {
  const HierarchicalAllocator& planned = memory.planned();
  const size_t count = MethodMeta(&plan_, nullptr, devices_).num_memory_planned_buffers();
  if (!planned.devices().empty() && planned.devices().size() != planned.arenas()) {
    return fail(Error::kInvalidArgument, "arenas", planned.arenas(), "%zu arenas were given with %zu devices",
                planned.arenas(), planned.devices().size());
  }
  if (planned.arenas() < count) {
    return fail(Error::kInvalidArgument, "arenas", planned.arenas(), "%zu arenas are needed, %zu were given", count,
                planned.arenas());
  }
  for (size_t i = 0; i < count; ++i) BERTH_RETURN_IF_ERROR(check_arena(i, memory));
  return Error::kOk;
}

Error MethodLoader::check_arena(size_t index, const MemoryManager& memory) {
  const MethodMeta meta(&plan_, program_.names_of(plan_), devices_);
  BERTH_ASSIGN_OR_RETURN(const uint64_t bytes, meta.memory_planned_buffer_size(index));
  BERTH_ASSIGN_OR_RETURN(const Device device, meta.memory_planned_buffer_device(index));
  const Span<uint8_t> arena = memory.planned().arena(index);
  if (memory.planned().device(index) != device) {
    return fail(Error::kInvalidArgument, "arenas", index, "it must be on %s, but is on %s", to_text(device).text,
                to_text(memory.planned().device(index)).text);
  }
  // Where it follows the sizes, it may be large enough for those that will be set.
  if (arena.size() < bytes && !is_stacked(static_cast<uint32_t>(index + 1))) {
    return fail(Error::kMemoryAllocationFailed, "arenas", index, "%" PRIu64 " bytes are needed, %zu were given", bytes,
                arena.size());
  }
  const size_t alignment = meta.memory_planned_buffer_alignment(index);
  if (bytes > 0 && reinterpret_cast<uintptr_t>(arena.data()) % alignment != 0) {
    return fail(Error::kInvalidArgument, "arenas", index, "the address must be a multiple of %zu", alignment);
  }
  const Span<const uint8_t> used(arena.data(), arena.size() < bytes ? arena.size() : static_cast<size_t>(bytes));
  if (device.is_cpu() && (overlap(used, memory.method().memory()) || overlap(used, memory.temp()))) {
    return fail(Error::kInvalidArgument, "arenas", index, "it overlaps the method or temp memory");
  }
  return Error::kOk;
}

Error MethodLoader::start_devices(MethodData& data) {
  for (size_t i = 0; i < data.counts.devices; ++i) {
    DeviceUse& use = data.devices[i];
    const Result<DeviceStream*> stream = use.allocator->create_stream(use.device.index);
    if (!stream.ok()) {
      return format::fail(report_, stream.error(), "devices", "%s did not create a stream", to_text(use.device).text);
    }
    use.stream = *stream;
  }
  return Error::kOk;
}

namespace {

Error wait_for(const DeviceUse& use) {
  return use.stream == nullptr ? Error::kOk : use.allocator->synchronize(use.stream, use.device.index);
}

}  // namespace

Error synchronize(MethodData& data) {
  Error first = Error::kOk;
  for (size_t i = 0; i < data.counts.devices; ++i) {
    const Error error = wait_for(data.devices[i]);
    if (first == Error::kOk) first = error;
  }
  return first;
}

// Kernels and delegates first: while they are released they may use their streams, constants and payloads.
void release(MethodData& data) {
  for (size_t i = data.resolved; i-- > 0;) {
    const Instruction& instruction = data.instructions[i];
    if (instruction.state == nullptr || data.owns(instruction.state)) continue;
    instruction.kernel->release(instruction.state);
  }
  for (size_t i = 0; i < data.counts.delegates; ++i) {
    Delegate& delegate = data.delegates[i];
    if (delegate.handle != nullptr) delegate.backend->unload(delegate.handle);
    delegate.~Delegate();
  }
  for (size_t i = 0; i < data.counts.devices; ++i) {
    const DeviceUse& use = data.devices[i];
    if (use.stream != nullptr) use.allocator->destroy_stream(use.stream, use.device.index);
  }
  for (size_t i = 0; i < data.counts.externals; ++i) data.externals[i].~FreeableBuffer();
}

Error upload(MethodData& data, Device device, void* target, const void* source, size_t bytes) {
  const DeviceUse* use = data.device_table().find(device);
  if (use == nullptr || use->allocator == nullptr) return Error::kNotFound;
  BERTH_RETURN_IF_ERROR(use->allocator->copy_host_to_device(target, source, bytes, device.index, use->stream));
  return wait_for(*use);
}

Error download(MethodData& data, Device device, void* target, const void* source, size_t bytes) {
  if (device.is_cpu()) {
    std::memcpy(target, source, bytes);
    return Error::kOk;
  }
  const DeviceUse* use = data.device_table().find(device);
  if (use == nullptr || use->allocator == nullptr) return Error::kNotFound;
  BERTH_RETURN_IF_ERROR(use->allocator->copy_device_to_host(target, source, bytes, device.index, use->stream));
  return wait_for(*use);
}

// Copies a few zeros from the host and then doubles them on the device, which needs little host memory and few copies.
Error upload_zeros(MethodData& data, Device device, void* target, size_t bytes) {
  static constexpr uint8_t kZeros[256] = {};
  size_t done = bytes < sizeof kZeros ? bytes : sizeof kZeros;
  BERTH_RETURN_IF_ERROR(upload(data, device, target, kZeros, done));
  uint8_t* begin = static_cast<uint8_t*>(target);
  while (done < bytes) {
    const size_t more = done < bytes - done ? done : bytes - done;
    BERTH_RETURN_IF_ERROR(copy_within(data, device, begin + done, begin, more));
    done += more;
  }
  return Error::kOk;
}

Error copy_within(MethodData& data, Device device, void* target, const void* source, size_t bytes) {
  const DeviceUse* use = data.device_table().find(device);
  if (use == nullptr || use->allocator == nullptr) return Error::kNotFound;
  BERTH_RETURN_IF_ERROR(
      use->allocator->copy_device_to_device(target, device.index, source, device.index, bytes, use->stream));
  return wait_for(*use);
}

}  // namespace berth::internal
