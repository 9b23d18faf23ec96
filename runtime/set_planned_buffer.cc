// Method::set_planned_buffer: the memory of deferred arenas.

#include <cinttypes>
#include <cstdio>

#include "format/tensor_facts.h"
#include "runtime/method.h"
#include "runtime/method_data.h"

namespace berth {
namespace {

// Calls `visit` with each tensor in the arena and its offset there, until it returns false.
template <typename Visit>
bool each_tensor(internal::MethodData& data, size_t arena, const Visit& visit) {
  size_t next = 0;
  for (size_t i = 0; i < data.counts.values; ++i) {
    const fb::Tensor* tensor = format::tensor_at(*data.plan, static_cast<int64_t>(i));
    if (tensor == nullptr) continue;
    Tensor& out = data.tensors[next++];
    if (!format::is_planned(*tensor) || out.capacity() == 0) continue;
    const fb::AllocationDetails& where = *tensor->allocation_info();
    if (where.memory_id() == arena + 1 && !visit(out, format::planned_offset(where))) return false;
  }
  return true;
}

Error set_stacked(internal::MethodData& data, internal::StackedArena* arena, const char* place, void* memory,
                  size_t bytes) {
  if (data.running || !arena->deferred) {
    return format::fail(&data.report, Error::kInvalidState, place,
                        data.running ? "not during a run" : "it had memory when the method was loaded");
  }
  arena->memory = static_cast<uint8_t*>(memory);
  arena->given = bytes;
  internal::point_tensors(data, *arena);
  return Error::kOk;
}

}  // namespace

Error Method::set_planned_buffer(size_t index, void* memory, size_t bytes) {
  internal::MethodData& data = *data_;
  data.report = format::Report();
  char place[64];
  std::snprintf(place, sizeof place, "arenas[%zu]", index);
  const MethodMeta about = meta();
  const Result<uint64_t> size = about.memory_planned_buffer_size(index);
  if (!size.ok()) {
    return format::fail(&data.report, Error::kInvalidArgument, place, "the method has %zu arenas",
                        about.num_memory_planned_buffers());
  }
  const size_t alignment = about.memory_planned_buffer_alignment(index);
  internal::StackedArena* const stacked = internal::find_stack(data, index);
  const uint64_t needed = stacked == nullptr ? *size : stacked->needed;
  if (stacked != nullptr && stacked->memory == memory && memory != nullptr && bytes >= needed) {
    stacked->given = bytes;
    return Error::kOk;
  }
  if (bytes < needed || (memory == nullptr && needed > 0)) {
    return format::fail(&data.report, Error::kInvalidArgument, place, "%" PRIu64 " bytes are needed, %zu were given",
                        needed, memory == nullptr ? 0 : bytes);
  }
  if (reinterpret_cast<uintptr_t>(memory) % alignment != 0) {
    return format::fail(&data.report, Error::kInvalidArgument, place, "the address must be a multiple of %zu",
                        alignment);
  }
  if (stacked != nullptr) return set_stacked(data, stacked, place, memory, bytes);
  const auto is_open = [&](const Tensor& tensor, uint64_t) {
    return (data.flags_of(tensor) & internal::kDeferredTensor) != 0;
  };
  if (data.running || !each_tensor(data, index, is_open)) {
    return format::fail(&data.report, Error::kInvalidState, place,
                        data.running ? "not during a run" : "it had memory when the method was loaded");
  }
  each_tensor(data, index, [&](Tensor& tensor, uint64_t offset) {
    if (tensor.raw() == nullptr) --data.deferred_tensors;
    tensor.set_data(static_cast<uint8_t*>(memory) + offset);
    return true;
  });
  return Error::kOk;
}

}  // namespace berth
