// Program::load_method and memory_needed: the steps of MethodLoader, in order.

#include <cinttypes>

#include "base/math.h"
#include "format/plan_check/verify_plan.h"
#include "runtime/log.h"
#include "runtime/method_loader.h"

namespace berth {
namespace internal {

Error MethodLoader::verify_plan(Span<uint8_t> scratch) {
  if (program_.verification_ == Verification::kMinimal) return Error::kOk;
  return format::verify_plan(view_, program_.index_of(plan_), scratch, nullptr, report_);
}

}  // namespace internal

using internal::Carver;
using internal::MethodCounts;
using internal::MethodData;
using internal::MethodLoader;

namespace {

constexpr size_t kTempAlignment = 64;

// `temp` from its first multiple of kTempAlignment on.
Span<uint8_t> aligned(Span<uint8_t> temp) {
  const size_t padding = -reinterpret_cast<uintptr_t>(temp.data()) & (kTempAlignment - 1);
  return padding >= temp.size() ? Span<uint8_t>() : temp.subspan(padding, temp.size() - padding);
}

// Releases what a method owns, unless keep() is called.
class Holder {
 public:
  explicit Holder(MethodData* data) : data_(data) {}
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  ~Holder() {
    if (data_ != nullptr) internal::release(*data_);
  }
  MethodData* keep() {
    MethodData* data = data_;
    data_ = nullptr;
    return data;
  }

 private:
  MethodData* data_;
};

Error check_apart(const MemoryManager& memory, Report* report) {
  if (!internal::overlap(memory.method().memory(), memory.temp())) return Error::kOk;
  return format::fail(report, Error::kInvalidArgument, "temp memory", "it overlaps the method memory");
}

Error fill(MethodLoader& loader, MethodData& data, const MemoryManager& memory, const MethodOptions& options,
           int threads, Report* report) {
  data.temp = aligned(memory.temp());
  data.pool = options.pool;
  data.user = options.user;
  data.fetch = options.fetch;
  data.zero = options.zero;
  data.follow = options.follow;
  data.small_outputs = options.small_outputs;
  BERTH_RETURN_IF_ERROR(loader.lay_out(data, &memory.planned()));
  BERTH_RETURN_IF_ERROR(loader.open_delegates(data, threads));
  BERTH_RETURN_IF_ERROR(loader.resolve(data));
  loader.build_stacks(data, memory.planned());
  BERTH_RETURN_IF_ERROR(loader.zero_unmarked_state(data));
  const size_t temp = loader.temp_bytes(data, threads);
  if (temp > data.temp.size()) {
    return format::fail(report, Error::kMemoryAllocationFailed, "temp memory",
                        "%zu bytes aligned to %zu are needed, %zu were given", temp, kTempAlignment, data.temp.size());
  }
  BERTH_RETURN_IF_ERROR(loader.start_devices(data));
  BERTH_RETURN_IF_ERROR(loader.load_delegates(data, options.read));
  BERTH_RETURN_IF_ERROR(loader.prepare_kernels(data, options.read));
  // Another method, with its own streams, may be loaded into the same arenas next.
  const Error late = synchronize(data);
  if (late == Error::kOk) return late;
  return format::fail(report, late, "devices", "work on a device failed while the method was loaded");
}

Error load_plan(MethodLoader& loader, const MemoryManager& memory, const MethodOptions& options, Report* report,
                MethodData** out) {
  const int threads = options.pool == nullptr ? 1 : options.pool->size();
  MethodCounts counts;
  BERTH_RETURN_IF_ERROR(loader.count(&counts));
  BERTH_RETURN_IF_ERROR(loader.check_devices(&counts));
  BERTH_RETURN_IF_ERROR(check_apart(memory, report));
  BERTH_RETURN_IF_ERROR(loader.check_arenas(memory));
  BERTH_RETURN_IF_ERROR(loader.measure_delegates(&counts, threads));
  size_t needed = 0;
  BERTH_RETURN_IF_ERROR(loader.memory_bytes(counts, &needed));
  const size_t free_bytes = memory.method().free_size();
  if (free_bytes >= needed) BERTH_RETURN_IF_ERROR(loader.verify_plan(memory.method().rest()));
  Carver carver(&memory.method());
  MethodData* data = free_bytes >= needed ? MethodLoader::carve(counts, carver) : nullptr;
  if (data == nullptr) {
    return format::fail(report, Error::kMemoryAllocationFailed, "method memory",
                        "%zu bytes aligned to 16 are needed, %zu are free", needed, free_bytes);
  }
  Holder holder(data);
  BERTH_RETURN_IF_ERROR(fill(loader, *data, memory, options, threads, report));
  *out = holder.keep();
  return Error::kOk;
}

// `minimal`: the program was loaded with Verification::kMinimal, so payloads have to be verified here.
Error measure(MethodLoader& loader, MethodCounts counts, bool minimal, Span<uint8_t> scratch, int threads,
              MemoryNeeded* needed) {
  BERTH_RETURN_IF_ERROR(loader.check_devices(&counts));
  if (minimal) BERTH_RETURN_IF_ERROR(loader.check_delegates(counts, threads));
  BERTH_RETURN_IF_ERROR(loader.measure_delegates(&counts, threads));
  BERTH_RETURN_IF_ERROR(loader.memory_bytes(counts, &needed->method_bytes));
  MemoryAllocator allocator(scratch);
  Carver carver(&allocator);
  MethodData* data = MethodLoader::carve(counts, carver);
  if (data == nullptr) return Error::kOk;
  const Holder holder(data);
  BERTH_RETURN_IF_ERROR(loader.lay_out(*data, nullptr));
  BERTH_RETURN_IF_ERROR(loader.open_delegates(*data, threads));
  BERTH_RETURN_IF_ERROR(loader.resolve(*data));
  needed->temp_bytes = loader.temp_bytes(*data, threads);
  return Error::kOk;
}

}  // namespace

Result<Method> Program::load_method(const char* name, const MemoryManager& memory, const MethodOptions& options) const {
  Report own;
  Report* report = options.report == nullptr ? &own : options.report;
  *report = Report();
  MethodData* data = nullptr;
  Error error = Error::kInvalidArgument;
  if (const fb::ExecutionPlan* plan = find_plan(name, report); plan != nullptr) {
    MethodLoader loader(*this, *plan, report);
    error = load_plan(loader, memory, options, report, &data);
  }
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
  BERTH_RETURN_IF_ERROR(measure(loader, counts, verification_ == Verification::kMinimal, scratch, threads, &needed));
  const MethodMeta meta(plan, names_of(*plan), devices_.of(index_of(*plan)));
  for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    BERTH_ASSIGN_OR_RETURN(const uint64_t bytes, meta.memory_planned_buffer_size(i));
    if (!checked_add(needed.arena_bytes, bytes, &needed.arena_bytes)) return Error::kInvalidProgram;
  }
  return needed;
}

}  // namespace berth
