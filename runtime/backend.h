// Backend: runs delegates, the parts of a program that were compiled for something other than the kernel tables.
//
// The application passes its backends to a Program (LoadOptions::backends); each delegate names its backend. The
// arguments of a delegate's call are its inputs, its outputs and, for Berth's own backends, the scratch that the outer
// memory plan reserves: one tensor of bytes on the delegate's device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/device.h"
#include "base/result.h"
#include "base/span.h"
#include "format/report.h"
#include "runtime/kernel.h"
#include "runtime/memory.h"
#include "runtime/named_data.h"

namespace berth {

/// An option of a delegate. Points into the file.
struct CompileSpec {
  /// Null-terminated.
  const char* key = "";
  Span<const uint8_t> value;
};

/// A delegate as it is in the file. Everything that it points to outlives the delegate's handle.
struct DelegateSource {
  Span<const uint8_t> payload;
  Span<const CompileSpec> specs;
  /// The device of the compile spec "target_device" (base/target_device.h), mapped by LoadOptions::devices; the host if
  /// there is none.
  Device device;
  /// Blobs of the program's own file and of its data files.
  const NamedDataMap* named_data = nullptr;
  /// The allocators that the Program was loaded with. Never null.
  const DeviceAllocatorRegistry* registry = nullptr;
  /// Whether the payload must be fully verified before it is used.
  bool verify = true;
};

/// A loaded delegate. Opaque; defined by the backend.
struct DelegateHandle;

/// The memory that a delegate needs of its method's.
struct DelegateMemory {
  /// Bytes of method memory at load, at an address that is a multiple of 16.
  size_t method_bytes = 0;
  /// Bytes of temp memory at each call.
  size_t temp_bytes = 0;
  /// How many of the call's first arguments are only read. Before each run the others are checked to be writable: not
  /// constants, and not in the memory of the caller's inputs. SIZE_MAX: unknown, so nothing is checked.
  size_t read_arguments = SIZE_MAX;
};

/// What the runtime passes to a delegate when it is loaded.
struct DelegateLoad {
  /// Has at least DelegateMemory::method_bytes bytes; lives as long as the handle.
  MemoryAllocator* memory = nullptr;
  /// The device's allocator and stream; both null on the host.
  DeviceUse use;
  /// May be null.
  ThreadPool* pool = nullptr;
  /// The same memory as KernelContext::temp() in each call: at least DelegateMemory::temp_bytes, at a multiple of 64.
  Span<uint8_t> temp;
  /// MethodOptions::read, for the delegate's constants.
  MemoryVisitor read = {nullptr, nullptr};
  /// MethodOptions::fetch, likewise.
  MemoryFetcher fetch = {nullptr, nullptr};
  /// The arguments of its call: planned tensors have their final addresses, the others none yet.
  Span<EValue* const> args;
};

/// A backend may be used from several threads at once; a handle from one at a time. Errors are codes, with a sentence
/// in `report` (may be null) or KernelContext::fail.
class Backend {
 public:
  virtual ~Backend() = default;

  /// The name by which delegates refer to this backend, such as "berth.sim"; static.
  virtual const char* name() const = 0;

  /// Whether its delegates may run on devices of this type.
  virtual bool serves(DeviceType type) const = 0;

  /// Verifies the payload and computes the memory that load() and execute() need with `threads` threads; keeps nothing.
  /// `scratch` is memory in which the payload may be laid out to be measured; method_bytes bytes, at a multiple of 16,
  /// are always enough. With less, temp_bytes is MemoryNeeded::kUnknown (SIZE_MAX), and method_bytes is right
  /// nevertheless.
  virtual Error memory_needed(const DelegateSource& source, Span<uint8_t> scratch, int threads, DelegateMemory* needed,
                              format::Report* report) const = 0;

  /// Loads a delegate; not called for delegates that no instruction calls. Resources other than `load.memory`, such as
  /// device memory and library handles, are released in unload(), or before load() returns an error.
  virtual Result<DelegateHandle*> load(const DelegateSource& source, const DelegateLoad& load,
                                       format::Report* report) = 0;

  /// Runs the delegate on the arguments of its call. Must not allocate from the heap. With a stream, the work may still
  /// be in progress when this returns.
  virtual Error execute(DelegateHandle* handle, KernelContext& context, Span<EValue* const> args) = 0;

  /// Whether execute() takes addresses and sizes of its arguments from each call. Then their arenas may follow the
  /// sizes (Method::planned_bytes), so that they lie elsewhere in another run; otherwise they stay where load() found
  /// them.
  virtual bool follows_sizes() const { return false; }

  /// The bytes that the call's arguments take when they have these sizes. `sizes[i]` is empty for an argument that is
  /// not a tensor, and -1 stands for a size that is not known; then the answer is enough for all that it can be.
  /// `bytes[i]` is what argument i takes by its sizes, or at most; more where the delegate uses more of it, less of its
  /// scratch. Called between runs, must not allocate from the heap, and changes nothing that execute() sees. REQUIRES:
  /// follows_sizes().
  virtual Error argument_bytes(DelegateHandle* /*handle*/, Span<const Span<const int32_t>> /*sizes*/,
                               Span<uint64_t> /*bytes*/) {
    return Error::kOk;
  }

  /// Warms up, so that the first execute() is not slower than later ones. Must not change what execute() computes.
  /// Called by Method::warm_up(), never during a run. May use the heap.
  virtual void warm_up(DelegateHandle* /*handle*/) {}

  /// Called once for each handle, while its memory is still valid.
  virtual void unload(DelegateHandle* handle) = 0;
};

}  // namespace berth
