// Kernels: the functions that compute a program's operators. The application passes tables of kernels to each Program;
// there is no process-wide registry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/error.h"
#include "base/span.h"
#include "runtime/device_allocator.h"
#include "runtime/value.h"

namespace berth {

class InstructionObserver;

/// Work that may run on several threads: `call(context, begin, end)` handles the items [begin, end).
struct ParallelBody {
  void (*call)(void* context, int64_t begin, int64_t end);
  void* context;
};

/// A thread pool that the application owns. The runtime starts no threads.
class ThreadPool {
 public:
  virtual ~ThreadPool() = default;
  /// The number of threads, including the calling one; at least 1.
  virtual int size() const = 0;
  /// Splits [0, count) into ranges of at least `grain` items, runs `body` on all of them and returns when all are done.
  /// Called from one thread at a time. REQUIRES: grain >= 1.
  virtual void run(int64_t count, int64_t grain, ParallelBody body) = 0;
};

/// A callback for ranges of memory; see MethodOptions::read.
struct MemoryVisitor {
  void (*call)(void* context, Span<const uint8_t> memory);
  void* context;
};

/// A callback that sets memory to zero; see MethodOptions::zero.
struct MemoryZeroer {
  void (*call)(void* context, Span<uint8_t> memory);
  void* context;
};

/// A callback that copies parts of constants; see MethodOptions::fetch. Called from several threads at once.
struct MemoryFetcher {
  /// Copies `from` to `to`, which has as many bytes; AccessFailed when they cannot be read.
  Error (*call)(void* context, Span<const uint8_t> from, void* to);
  void* context;
};

/// The services available to a kernel while it runs. Lives for one call.
class KernelContext {
 public:
  /// `pool` may be null: then everything runs on the calling thread. `temp` is the caller's scratch memory; each
  /// instruction starts with all of it. `devices` are those of the Method; `user` is MethodOptions::user; `observer` is
  /// the Method's, for delegates that run instructions of their own. `fetcher` may be null or have a null `call`;
  /// fetch() then copies memory.
  KernelContext(Span<uint8_t> temp, ThreadPool* pool, DeviceTable devices = {}, void* user = nullptr,
                InstructionObserver* observer = nullptr, const MemoryFetcher* fetcher = nullptr)
      : temp_(temp), pool_(pool), devices_(devices), user_(user), observer_(observer), fetcher_(fetcher) {}

  /// `bytes` bytes aligned to 64, valid until the kernel returns; null when the scratch memory is too small, and the
  /// kernel should then return Error::kMemoryAllocationFailed.
  void* allocate_temp(size_t bytes);

  /// Copies `bytes` bytes from `from`, a small part of a large table, to `to`. Like memcpy, but the application may
  /// read them from the file that the table is mapped from (MethodOptions::fetch). Errors are the fetcher's. May be
  /// called from any of the kernel's threads. REQUIRES: the ranges do not overlap.
  Error fetch(const void* from, size_t bytes, void* to) const;

  /// Bytes allocated so far, padding included.
  size_t temp_used() const { return used_; }

  /// The devices that the Method uses, with their allocators and streams.
  const DeviceTable& devices() const { return devices_; }
  /// Data for device kernels that this interface does not know, such as queues and library handles
  /// (MethodOptions::user). May be null.
  void* user() const { return user_; }
  ThreadPool* pool() const { return pool_; }
  /// See Method::set_observer; may be null.
  InstructionObserver* observer() const { return observer_; }
  /// KernelEntry::data.
  const void* data() const { return data_; }
  void set_data(const void* data) { data_ = data; }
  /// The state that the kernel's `prepare` made for this instruction; null if it made none.
  void* state() const { return state_; }
  void set_state(void* state) { state_ = state; }
  /// All of the temporary memory, for a delegate that runs a program of its own in it.
  Span<uint8_t> temp() const { return temp_; }

  int threads() const { return pool_ == nullptr ? 1 : pool_->size(); }

  /// Runs `body(begin, end)` over [0, count), split over the threads in ranges of at least `grain` items. If count <=
  /// grain, runs on the calling thread.
  template <typename Body>
  void parallel_for(int64_t count, int64_t grain, Body&& body) {
    if (count <= 0) return;
    if (pool_ == nullptr || count <= grain || pool_->size() == 1) {
      body(int64_t{0}, count);
      return;
    }
    using B = std::remove_reference_t<Body>;
    pool_->run(count, grain < 1 ? 1 : grain,
               {[](void* context, int64_t begin, int64_t end) { (*static_cast<B*>(context))(begin, end); },
                const_cast<void*>(static_cast<const void*>(&body))});
  }

  /// Reports why the kernel cannot run, for the log and for Method's message, and returns `error` so that a kernel can
  /// write `return context.fail(Error::kInvalidArgument, "self and out have different dtypes");`. The text must be
  /// static or live until the call returns.
  Error fail(Error error, const char* message) {
    message_ = message;
    return error;
  }
  /// The message of fail(); null if it was not called.
  const char* message() const { return message_; }

 private:
  Span<uint8_t> temp_;
  size_t used_ = 0;
  ThreadPool* pool_;
  DeviceTable devices_;
  void* user_;
  InstructionObserver* observer_;
  const MemoryFetcher* fetcher_;
  void* state_ = nullptr;
  const void* data_ = nullptr;
  const char* message_ = nullptr;
};

/// The services available to a kernel's `prepare` while a method is loaded. Lives for one call.
class PrepareContext {
 public:
  /// `constant[i]` is the result of is_constant(i).
  PrepareContext(ThreadPool* pool, void* user, Span<const bool> constant)
      : pool_(pool), user_(user), constant_(constant) {}

  /// Whether argument `index` is always the same tensor, whose elements are present now and never change: a kernel may
  /// read and repack them, and may keep their address until `release`.
  bool is_constant(size_t index) const { return index < constant_.size() && constant_[index]; }

  /// The thread pool of later calls; may be null.
  ThreadPool* pool() const { return pool_; }
  int threads() const { return pool_ == nullptr ? 1 : pool_->size(); }
  /// As in KernelContext.
  void* user() const { return user_; }

  /// Reports why the load must fail, like KernelContext::fail.
  Error fail(Error error, const char* message) {
    message_ = message;
    return error;
  }
  const char* message() const { return message_; }

 private:
  ThreadPool* pool_;
  void* user_;
  Span<const bool> constant_;
  const char* message_ = nullptr;
};

/// A kernel as tables hold it. Most kernels are functions of typed arguments, and runtime/arguments.h makes a
/// KernelFunction of such a one.
///
/// `args` are the schema's arguments in order, outputs last; the loader has checked their number and tags against the
/// signature. A kernel checks dtypes and sizes, resizes its outputs, computes, and returns. It must not throw, allocate
/// from the heap, or abort on bad sizes.
using KernelFunction = Error (*)(KernelContext& context, Span<EValue* const> args);

/// An upper bound on the bytes that the kernel allocates with allocate_temp() for arguments of these sizes, padding
/// included, on `threads` threads. The loader calls it with each tensor at its largest size. It must not read elements.
using TempBytesFunction = size_t (*)(Span<EValue* const> args, int threads);

/// Prepares one instruction when its method is loaded: creates primitives, repacks constant weights. Whatever it stores
/// in `*state` (null before) is KernelContext::state() in every call of that instruction, and is passed to `release`
/// when the Method is destroyed or a later step of the load fails. If prepare itself fails, it must leave nothing
/// behind, and the load fails with its error. Called once for each instruction; tensors have their largest sizes and
/// their dimension orders, and only constants have elements. Addresses and sizes of other tensors may differ from call
/// to call. Instructions with a number, string or list that other instructions compute are not prepared: their calls
/// have no state.
///
/// Unlike `call`, it may use the heap, for kernels of backends that run where there is one.
using PrepareFunction = Error (*)(PrepareContext& context, Span<EValue* const> args, void** state);
using ReleaseFunction = void (*)(void* state);

struct KernelEntry {
  /// Registered name with overload, "aten::add.out", or the name alone when the overload is empty.
  const char* name = nullptr;
  /// Schema as in format/operators.def: "Tensor self, Scalar alpha=1 -> Tensor out". The loader checks every call
  /// against it.
  const char* signature = nullptr;
  KernelFunction call = nullptr;
  /// Null when the kernel takes no temporary memory.
  TempBytesFunction temp_bytes = nullptr;
  /// The output (0 for the first) that may have no memory, because the kernel then does not compute it; -1 for none.
  /// Every other tensor that has elements has memory when the kernel is called.
  int unplaced_output = -1;
  /// Whether its tensors may live on devices, because it copies them with the device's allocator or never accesses
  /// their elements. Programs that pass device memory to any other kernel are refused.
  bool takes_devices = false;
  /// Both null, or neither.
  PrepareFunction prepare = nullptr;
  ReleaseFunction release = nullptr;
  /// The argument of which a call reads only some rows, such as a table of embeddings; -1 for none. Every other tensor
  /// is assumed to be read completely.
  int picked_argument = -1;
  /// Of operators that format/operators.def does not have: bit i says that the first output may lie on argument i, of
  /// the same sizes, order and element size. The loader refuses programs that were planned for more.
  uint32_t in_place_arguments = 0;
  /// The maker's own; KernelContext::data() is this in each call.
  const void* data = nullptr;
};

/// Kernels in any order; names are unique within a table.
using KernelTable = Span<const KernelEntry>;

}  // namespace berth
