// Backend: what runs delegates, the parts of a program that were compiled for something else than the kernel tables.
//
// The application hands a Program the backends that it has (LoadOptions::backends); a delegate names the one that it
// wants. A call of a delegate has its inputs, then its outputs as arguments, and last, for Berth's own backends, the
// scratch that the outer plan placed: one tensor of bytes on the delegate's device.
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

/// An option of a delegate; the spans point into the file.
struct CompileSpec {
  /// Null-terminated.
  const char* key = "";
  Span<const uint8_t> value;
};

/// A delegate as the file has it. Everything in it outlives the delegate's handle.
struct DelegateSource {
  Span<const uint8_t> payload;
  Span<const CompileSpec> specs;
  /// From target_device (base/target_device.h), after the mapping that the Program was loaded with; the host without
  /// one.
  Device device;
  /// Blobs of the program's own file and of the data files beside it.
  const NamedDataMap* named_data = nullptr;
  /// The allocators that the Program was loaded with. Never null.
  const DeviceAllocatorRegistry* registry = nullptr;
  /// Whether the payload must be checked in full before it is used.
  bool verify = true;
};

/// What a backend made of a delegate at load; opaque.
struct DelegateHandle;

/// How much a delegate takes of the method's memory.
struct DelegateMemory {
  /// Of the method allocator at load, from an address that is a multiple of 16.
  size_t method_bytes = 0;
  /// Of the temporary memory at each call.
  size_t temp_bytes = 0;
  /// How many of the call's first arguments are only read. The others are then held to be writable before each run: no
  /// constants, no memory of the caller's inputs. SIZE_MAX: the backend does not say, and writes at its own risk.
  size_t read_arguments = SIZE_MAX;
};

/// What a delegate gets when it is loaded.
struct DelegateLoad {
  /// Gives at least DelegateMemory::method_bytes; lives as long as the handle.
  MemoryAllocator* memory = nullptr;
  /// The device's allocator and stream; both null on the host.
  DeviceUse use;
  /// May be null.
  ThreadPool* pool = nullptr;
  /// What KernelContext::temp() will be at each call, at a multiple of 64; at least DelegateMemory::temp_bytes.
  Span<uint8_t> temp;
  /// MethodOptions::read, for the delegate's constants.
  MemoryVisitor read = {nullptr, nullptr};
  /// MethodOptions::fetch, likewise.
  MemoryFetcher fetch = {nullptr, nullptr};
  /// Of its call: planned tensors have the addresses that they keep, the others none yet.
  Span<EValue* const> args;
};

/// A backend is used from several threads; a handle by one at a time. Errors are codes, with a sentence in `report`
/// (may be null) or KernelContext::fail.
class Backend {
 public:
  virtual ~Backend() = default;

  /// The name that delegates are found by, static: "berth.sim".
  virtual const char* name() const = 0;

  /// The kinds of devices that its delegates may name.
  virtual bool serves(DeviceType type) const = 0;

  /// Checks the payload, and says what load() and execute() will take with so many threads; takes nothing that stays.
  /// `scratch` is the room in which the payload may be laid out to be measured; with too little of it, temp_bytes is
  /// MemoryNeeded::kUnknown (SIZE_MAX) and method_bytes is right nevertheless. It is never too little when it has
  /// method_bytes bytes, at a multiple of 16.
  virtual Error memory_needed(const DelegateSource& source, Span<uint8_t> scratch, int threads, DelegateMemory* needed,
                              format::Report* report) const = 0;

  /// Makes the delegate ready; one that no instruction calls is not loaded. What it takes from elsewhere than
  /// `load.memory` (memory of the device, handles of libraries) it gives back in unload(), or before it returns an
  /// error.
  virtual Result<DelegateHandle*> load(const DelegateSource& source, const DelegateLoad& load,
                                       format::Report* report) = 0;

  /// Runs it: `args` are those of the call. Takes nothing from the heap. With a stream, results may still be under way
  /// on it when this returns.
  virtual Error execute(DelegateHandle* handle, KernelContext& context, Span<EValue* const> args) = 0;

  /// Makes the first execute() as fast as later ones where it can: runs what it has to run to find its code in memory.
  /// What execute() computes does not change. Called after the load, when the host asked for it (Method::warm_up), and
  /// not during a run. It may use the heap.
  virtual void warm_up(DelegateHandle* /*handle*/) {}

  /// Called once for each handle, before the memory that it lies in goes.
  virtual void unload(DelegateHandle* handle) = 0;
};

}  // namespace berth
