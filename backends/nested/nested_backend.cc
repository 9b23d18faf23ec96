// NestedBackend: measuring and loading delegates; nested_delegate.cc runs them.

#include "backends/nested/nested_backend.h"

#include <memory>
#include <new>

#include "backends/nested/nested_delegate.h"
#include "base/check.h"
#include "format/nested.h"

namespace berth {

namespace {

// Stands for every constant while a delegate is measured, when elements are not read.
class AnyConstant final : public NamedDataMap {
 public:
  Result<FreeableBuffer> get(const char*) const override { return FreeableBuffer(kNowhere, SIZE_MAX / 4); }

 private:
  alignas(64) static constexpr uint8_t kNowhere[64] = {};
};

DelegateHandle* to_handle(NestedDelegate* delegate) { return reinterpret_cast<DelegateHandle*>(delegate); }
NestedDelegate* of_handle(DelegateHandle* handle) { return reinterpret_cast<NestedDelegate*>(handle); }

}  // namespace

NestedBackend::NestedBackend(const char* name, Span<const KernelTable> tables) : name_(name) {
  BERTH_CHECK(tables.size() <= kMaxTables);
  for (const KernelTable& table : tables) tables_[table_count_++] = table;
}

Error NestedBackend::reach(const DeviceUse&, void* address, size_t, void** reached) const {
  *reached = address;
  return Error::kOk;
}

Result<void*> NestedBackend::open(const DelegateSource&, const DelegateLoad&, format::Report*) {
  return static_cast<void*>(nullptr);
}
void NestedBackend::close(void*) {}
Error NestedBackend::begin(void*, KernelContext&) { return Error::kOk; }
Error NestedBackend::end(void*, KernelContext&, Error result) { return result; }
Error NestedBackend::settle(void*) { return Error::kOk; }
Error NestedBackend::begin_recording(void*) { return Error::kNotSupported; }
Result<void*> NestedBackend::end_recording(void*) { return Error::kNotSupported; }
Error NestedBackend::replay(void*, void*) { return Error::kNotSupported; }
void NestedBackend::discard(void*, void*) {}

Error NestedBackend::memory_needed(const DelegateSource& source, Span<uint8_t> scratch, int threads,
                                   DelegateMemory* needed, format::Report* report) const {
  uint32_t version = 0;
  BERTH_ASSIGN_OR_RETURN(const Span<const uint8_t> file, format::open_nested(source.payload, report, &version));
  const BufferLoader loader(file);
  const AnyConstant constants;
  BERTH_ASSIGN_OR_RETURN(const Program program,
                         NestedDelegate::open_program(*this, loader, version, &constants, source.verify, report));
  BERTH_ASSIGN_OR_RETURN(const MemoryNeeded inner,
                         program.memory_needed(format::kNestedMethodName, scratch, threads, report));
  needed->method_bytes = NestedDelegate::total_bytes(inner.method_bytes);
  needed->temp_bytes = inner.temp_bytes;
  needed->read_arguments = program.method_meta(size_t{0})->num_inputs();
  return Error::kOk;
}

Result<DelegateHandle*> NestedBackend::load(const DelegateSource& source, const DelegateLoad& load,
                                            format::Report* report) {
  uint32_t version = 0;
  BERTH_ASSIGN_OR_RETURN(const Span<const uint8_t> file, format::open_nested(source.payload, report, &version));
  const size_t free_bytes = load.memory->free_size();
  void* memory = load.memory->allocate(NestedDelegate::total_bytes(0), 16);
  if (memory == nullptr) {
    return format::fail(report, Error::kMemoryAllocationFailed, "delegate memory", "%zu bytes are too few", free_bytes);
  }
  // Destroyed where load() fails, and where an allocation throws in an application with exceptions.
  struct Destroy {
    void operator()(NestedDelegate* failed) const { failed->~NestedDelegate(); }
  };
  std::unique_ptr<NestedDelegate, Destroy> delegate(new (memory) NestedDelegate(*this, file, version, source, load));
  BERTH_RETURN_IF_ERROR(delegate->load(source, load, report));
  return to_handle(delegate.release());
}

Error NestedBackend::execute(DelegateHandle* handle, KernelContext& context, Span<EValue* const> args) {
  return of_handle(handle)->execute(context, args);
}

Error NestedBackend::argument_bytes(DelegateHandle* handle, Span<const Span<const int32_t>> sizes,
                                    Span<uint64_t> bytes) {
  return of_handle(handle)->argument_bytes(sizes, bytes);
}

void NestedBackend::warm_up(DelegateHandle* handle) { of_handle(handle)->warm_up(); }

void NestedBackend::unload(DelegateHandle* handle) { of_handle(handle)->~NestedDelegate(); }

}  // namespace berth
