// Program::load_method and memory_needed: MethodLoader's steps in their order.

#include <cinttypes>

#include "base/math.h"
#include "format/verify_plan.h"
#include "runtime/log.h"
#include "runtime/method_loader.h"

namespace berth {
namespace internal {

size_t MethodLoader::plan_index() const {
  size_t index = 0;
  while (&view_.method(index) != &plan_) ++index;
  return index;
}

Error MethodLoader::verify_plan(Span<uint8_t> scratch) {
  if (program_.verification_ == Verification::kMinimal) return Error::kOk;
  return format::verify_plan(view_, plan_index(), scratch, nullptr, report_);
}

}  // namespace internal

using internal::Carver;
using internal::MethodCounts;
using internal::MethodData;
using internal::MethodLoader;

namespace {

constexpr size_t kTempAlignment = 64;

// The part of `temp` that begins at a multiple of kTempAlignment.
Span<uint8_t> aligned(Span<uint8_t> temp) {
  const size_t padding = static_cast<size_t>(-reinterpret_cast<uintptr_t>(temp.data()) & (kTempAlignment - 1));
  return padding >= temp.size() ? Span<uint8_t>() : temp.subspan(padding, temp.size() - padding);
}

Error load_plan(MethodLoader loader, const MemoryManager& memory, ThreadPool* pool, Report* report, MethodData** out) {
  MethodCounts counts;
  BERTH_RETURN_IF_ERROR(loader.count(&counts));
  BERTH_RETURN_IF_ERROR(loader.check_devices());
  BERTH_RETURN_IF_ERROR(loader.check_arenas(memory.planned()));
  size_t needed = 0;
  BERTH_RETURN_IF_ERROR(loader.memory_bytes(counts, &needed));
  const size_t free_bytes = memory.method().free_size();
  if (free_bytes >= needed) BERTH_RETURN_IF_ERROR(loader.verify_plan(memory.method().rest()));
  Carver carver(&memory.method());
  MethodData* data = free_bytes >= needed ? MethodLoader::carve(counts, carver) : nullptr;
  if (data == nullptr) {
    return format::fail(report, Error::kMemoryAllocationFailed, "method memory",
                        "%zu bytes at a multiple of 16 are needed, %zu are free", needed, free_bytes);
  }
  BERTH_RETURN_IF_ERROR(loader.lay_out(*data, &memory.planned()));
  BERTH_RETURN_IF_ERROR(loader.resolve(*data));
  data->temp = aligned(memory.temp());
  data->pool = pool;
  const size_t temp = loader.temp_bytes(*data, pool == nullptr ? 1 : pool->size());
  if (temp > data->temp.size()) {
    return format::fail(report, Error::kMemoryAllocationFailed, "temp memory",
                        "%zu bytes at a multiple of %zu are needed, %zu were given", temp, kTempAlignment,
                        data->temp.size());
  }
  *out = data;
  return Error::kOk;
}

Error measure(MethodLoader& loader, const MethodCounts& counts, Span<uint8_t> scratch, int threads,
              MemoryNeeded* needed) {
  BERTH_RETURN_IF_ERROR(loader.memory_bytes(counts, &needed->method_bytes));
  MemoryAllocator allocator(scratch);
  Carver carver(&allocator);
  MethodData* data = MethodLoader::carve(counts, carver);
  if (data == nullptr) return Error::kOk;
  BERTH_RETURN_IF_ERROR(loader.check_devices());
  BERTH_RETURN_IF_ERROR(loader.lay_out(*data, nullptr));
  BERTH_RETURN_IF_ERROR(loader.resolve(*data));
  needed->temp_bytes = loader.temp_bytes(*data, threads);
  return Error::kOk;
}

}  // namespace

Result<Method> Program::load_method(const char* name, const MemoryManager& memory, ThreadPool* pool,
                                    Report* report) const {
  Report own;
  if (report == nullptr) report = &own;
  *report = Report();
  MethodData* data = nullptr;
  const fb::ExecutionPlan* plan = find_plan(name, report);
  const Error error = plan == nullptr ? Error::kInvalidArgument
                                      : load_plan(MethodLoader(*this, *plan, report), memory, pool, report, &data);
  if (error == Error::kOk) return Method(data);
  log_message(LogLevel::kError, "method %s: %s: %s", name, report->place, report->message);
  return error;
}

Result<MemoryNeeded> Program::memory_needed(const char* name, Span<uint8_t> scratch, int threads,
                                            Report* report) const {
  const fb::ExecutionPlan* plan = find_plan(name, report);
  if (plan == nullptr) return Error::kInvalidArgument;
  MethodLoader loader(*this, *plan, report);
  MethodCounts counts;
  MemoryNeeded needed;
  BERTH_RETURN_IF_ERROR(loader.count(&counts));
  BERTH_RETURN_IF_ERROR(measure(loader, counts, scratch, threads, &needed));
  const MethodMeta meta(plan, names_of(*plan));
  for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    BERTH_ASSIGN_OR_RETURN(const uint64_t bytes, meta.memory_planned_buffer_size(i));
    if (!checked_add(needed.arena_bytes, bytes, &needed.arena_bytes)) return Error::kInvalidProgram;
  }
  return needed;
}

}  // namespace berth
