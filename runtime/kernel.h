// Kernels: how a program's operators become code. The application hands a Program the tables of kernels that it wants;
// there is no process-wide registry that anything depends on.
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

/// Threads that the application owns. Berth starts none of its own.
class ThreadPool {
 public:
  virtual ~ThreadPool() = default;
  /// How many ranges may run at the same time, the calling thread included; at least 1.
  virtual int size() const = 0;
  /// Splits [0, count) into ranges of at least `grain` items, runs `body` on all of them and returns when all are done.
  /// Called from one thread at a time. REQUIRES: grain >= 1.
  virtual void run(int64_t count, int64_t grain, ParallelBody body) = 0;
};

/// Told of memory, see MethodOptions::read.
struct MemoryVisitor {
  void (*call)(void* context, Span<const uint8_t> memory);
  void* context;
};

/// Sets memory to zero, see MethodOptions::zero.
struct MemoryZeroer {
  void (*call)(void* context, Span<uint8_t> memory);
  void* context;
};

/// Reads memory for somebody, see MethodOptions::fetch. Called from several threads at once.
struct MemoryFetcher {
  /// Copies `from` to `to`, which has as many bytes; AccessFailed when they cannot be read.
  Error (*call)(void* context, Span<const uint8_t> from, void* to);
  void* context;
};

/// What a kernel may ask for while it runs. Lives for one call.
class KernelContext {
 public:
  /// `pool` may be null: then everything runs on the calling thread. `temp` is the memory that the caller gave for
  /// intermediate results; it starts anew with each instruction.
  /// `devices` are those of the Method; `user` is what its loader gave for kernels of its own (MethodOptions::user).
  /// `observer` is the Method's, for delegates that run instructions of their own. `fetcher` (may be null, or have no
  /// call) is what fetch() asks.
  KernelContext(Span<uint8_t> temp, ThreadPool* pool, DeviceTable devices = {}, void* user = nullptr,
                InstructionObserver* observer = nullptr, const MemoryFetcher* fetcher = nullptr)
      : temp_(temp), pool_(pool), devices_(devices), user_(user), observer_(observer), fetcher_(fetcher) {}

  /// `bytes` bytes aligned to 64 that live until the kernel returns, or null when the temporary memory is too small.
  /// The kernel then returns Error::kMemoryAllocationFailed.
  void* allocate_temp(size_t bytes);

  /// Copies `bytes` bytes from `from` to `to`: a few of a large table, of which the rest will not be wanted. Like
  /// memcpy, but a host may read them from the file that the table is mapped from (MethodOptions::fetch). Errors are
  /// the fetcher's. From any of the kernel's threads. REQUIRES: the two do not overlap.
  Error fetch(const void* from, size_t bytes, void* to) const;

  /// Bytes handed out so far, padding included.
  size_t temp_used() const { return used_; }

  /// The devices that the Method uses, with their allocators and streams.
  const DeviceTable& devices() const { return devices_; }
  /// What kernels of a device need and this interface does not know: its queue, library handles. Null if none was
  /// given.
  void* user() const { return user_; }
  ThreadPool* pool() const { return pool_; }
  /// See Method::set_observer; null without one.
  InstructionObserver* observer() const { return observer_; }
  /// What the kernel's `prepare` made for this instruction; null when it made nothing.
  void* state() const { return state_; }
  void set_state(void* state) { state_ = state; }
  /// All of the temporary memory, for a delegate that runs a program of its own in it.
  Span<uint8_t> temp() const { return temp_; }

  int threads() const { return pool_ == nullptr ? 1 : pool_->size(); }

  /// Runs `body(begin, end)` over [0, count), split over the threads in ranges of at least `grain` items. Small work
  /// (count <= grain) runs right here.
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
  /// What fail() was told; null if it was not called.
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
  const char* message_ = nullptr;
};

/// What a kernel may ask for while a method is loaded, to get one instruction ready. Lives for one call.
class PrepareContext {
 public:
  /// `constant` says of each argument of the call what is_constant() answers.
  PrepareContext(ThreadPool* pool, void* user, Span<const bool> constant)
      : pool_(pool), user_(user), constant_(constant) {}

  /// Whether argument `index` is one tensor throughout, whose elements are there now and never change: a kernel may
  /// read and repack them, and may keep their address until `release`.
  bool is_constant(size_t index) const { return index < constant_.size() && constant_[index]; }

  /// The pool that the calls will have; may be null.
  ThreadPool* pool() const { return pool_; }
  int threads() const { return pool_ == nullptr ? 1 : pool_->size(); }
  /// As in KernelContext.
  void* user() const { return user_; }

  /// Reports why the load must fail, as KernelContext::fail does.
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

/// `args` are the schema's arguments in order, outputs last; the loader has checked their number and their tags against
/// the signature before the first call. A kernel checks what depends on dtypes and sizes, resizes its outputs,
/// computes, and returns. It never throws, never allocates from the heap, never aborts on bad sizes.
using KernelFunction = Error (*)(KernelContext& context, Span<EValue* const> args);

/// An upper bound of the bytes that the kernel takes from allocate_temp() for arguments of these sizes, padding
/// included, on `threads` threads; the loader calls it with each tensor at its largest size. It must not read elements.
using TempBytesFunction = size_t (*)(Span<EValue* const> args, int threads);

/// Gets one instruction ready when its method is loaded: primitives made, constant weights repacked. What it leaves in
/// `*state` (null before) is KernelContext::state() in every call of that instruction, and is given to `release` when
/// the method goes, also when the load fails later; when it fails itself it leaves nothing, and the load fails with its
/// error. Called once for an instruction, with tensors that have their sizes (each the largest that it can have) and
/// their dimension orders; of their elements only those of constants are there. Addresses and sizes of other tensors
/// may differ from call to call. Instructions with a number, text or list that other instructions compute are not
/// prepared: their calls have no state.
///
/// It may use the heap, which `call` may not: for kernels of backends on machines that have one.
using PrepareFunction = Error (*)(PrepareContext& context, Span<EValue* const> args, void** state);
using ReleaseFunction = void (*)(void* state);

struct KernelEntry {
  /// Registered name with overload, "aten::add.out", or the name alone when the overload is empty.
  const char* name = nullptr;
  /// Schema as in format/operators.def: "Tensor self, Scalar alpha=1 -> Tensor out". The loader holds every call to it.
  const char* signature = nullptr;
  KernelFunction call = nullptr;
  /// Null when the kernel takes no temporary memory.
  TempBytesFunction temp_bytes = nullptr;
  /// Which output (0 for the first) may come without memory, because the kernel then leaves it out; -1 for none. Every
  /// other tensor that has elements has memory when the kernel is called.
  int unplaced_output = -1;
  /// Whether tensors of its calls may live on devices: it copies them with the device's allocator, or never looks at
  /// their elements. Every other kernel is host code; a program that hands it a device's memory is refused.
  bool takes_devices = false;
  /// Both or none.
  PrepareFunction prepare = nullptr;
  ReleaseFunction release = nullptr;
  /// The argument of which a call reads only the rows that others name, a table of embeddings; -1 for none. Every other
  /// tensor is taken to be read from end to end.
  int picked_argument = -1;
};

/// Kernels sorted by nothing in particular; names are unique within one table.
using KernelTable = Span<const KernelEntry>;

}  // namespace berth
