// NestedBackend: the base class of backends that run nested programs (format/nested.h) with tables of kernels. A
// subclass defines what is specific to its device.
//
//     class MyBackend final : public NestedBackend {
//      public:
//       MyBackend() : NestedBackend("berth.mine", tables) {}
//       bool serves(DeviceType type) const override { return type == DeviceType::kMine; }
//     };
//
// A delegate is an inner Program and Method, in memory of the outer method:
//   payload     fully verified, also by check_nested.h, before it is used
//   constants   named data of the outer program: in place on the host, otherwise uploaded once per blob and device
//   inputs      the outer program's memory, not copied
//   scratch     the call's last argument, present when the nested program's first arena has more than 0 bytes
//   outputs     the outer program's memory. An output that is used as scratch until it is written (format/nested.h)
//               must have its arena's alignment and must not overlap an input. Like the scratch, it may lie elsewhere
//               and have another size in each run, as the nested program's arenas follow the sizes (docs/plan.md)
//   temp        the outer method's temp memory
//   sizes       dynamic sizes are copied from the outer inputs, and to the outer outputs after the run
//   recordings  where the device can repeat queued work, a delegate records a run and replays it as long as its
//               arguments have the same addresses and sizes (recordings.h)
// The inner method treats all memory as the host's, but never dereferences an address itself if kernels do not run on
// the host (check_nested.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/nested/constant_store.h"
#include "runtime/backend.h"

namespace berth {

struct NestedDelegate;

/// Must outlive its delegates. Thread-safe. execute() does not allocate from the heap, with one exception: where a
/// device records, the call that is recorded, the second with new arguments, may.
class NestedBackend : public Backend, private AddressSpace {
 public:
  static constexpr size_t kMaxTables = 4;

  const char* name() const final { return name_; }
  Error memory_needed(const DelegateSource& source, Span<uint8_t> scratch, int threads, DelegateMemory* needed,
                      format::Report* report) const final;
  Result<DelegateHandle*> load(const DelegateSource& source, const DelegateLoad& load, format::Report* report) final;
  Error execute(DelegateHandle* handle, KernelContext& context, Span<EValue* const> args) final;
  /// On the host, runs the first instructions on zeros, for 0.5 to 1.5 ms depending on the bytes of weights
  /// (warm_up.cc). On a device that records, records a run with the arguments that are planned. Otherwise does nothing.
  void warm_up(DelegateHandle* handle) final;
  void unload(DelegateHandle* handle) final;
  bool follows_sizes() const final { return true; }
  Error argument_bytes(DelegateHandle* handle, Span<const Span<const int32_t>> sizes, Span<uint64_t> bytes) final;

  /// The constants of all loaded delegates.
  const ConstantStore& constants() const { return constants_; }

 protected:
  /// `name` is static. The entries of the tables must outlive the backend; kernels are looked up in the tables in
  /// order, then among the primitive operators. REQUIRES: at most kMaxTables tables.
  NestedBackend(const char* name, Span<const KernelTable> tables);
  /// The same, with one table.
  NestedBackend(const char* name, KernelTable table) : NestedBackend(name, Span<const KernelTable>(&table, 1)) {}
  ~NestedBackend() override = default;

  // Device-specific functions. The defaults are for kernels that run on the host, in its memory.

  /// Translates an address of the device for kernels (AddressSpace::reach). Called at load, and for each argument of
  /// each call.
  Error reach(const DeviceUse& use, void* address, size_t bytes, void** reached) const override;
  /// The same for an input of a call, which is only read. For devices that account for who may be using which bytes.
  virtual Error reach_input(const DeviceUse& use, void* address, size_t bytes, void** reached) const {
    return reach(use, address, bytes, reached);
  }
  /// Whether kernels run on the host, so that host code may dereference the results of reach().
  virtual bool host_kernels() const { return true; }

  /// Creates the session of a delegate, which its kernels get as KernelContext::user(): its stream, library handles.
  /// Called at load, after the payload was verified; an error ends the load.
  virtual Result<void*> open(const DelegateSource& source, const DelegateLoad& load, format::Report* report);
  /// Called once for each open() that succeeded, after the last run.
  virtual void close(void* session);
  /// Called around each run: begin() before the first kernel; an error ends the run. If begin() succeeded, end() is
  /// called after the last kernel with the result of the run, and its own result becomes the run's. `context` is the
  /// outer call's, for fail().
  virtual Error begin(void* session, KernelContext& context);
  virtual Error end(void* session, KernelContext& context, Error result);

  /// Waits until the kernels called so far have finished. Called after each instruction of an observed run, so that
  /// observers see, and time, what was computed. An error ends the run.
  virtual Error settle(void* session);

  // Recording: for devices that repeat queued work faster than the host queues it again. All of these are called
  // between begin() and end(), except discard().

  /// Whether runs are recorded; then the functions below are defined too.
  virtual bool records() const { return false; }
  /// Whether the first run with new arguments is recorded, rather than the second: where recording takes little more
  /// than running.
  virtual bool records_at_once() const { return false; }
  /// What kernels queue from now on is recorded and not run.
  virtual Error begin_recording(void* session);
  /// Ends what begin_recording() began. An error means that nothing was recorded and nothing was run; the delegate then
  /// runs without recordings.
  virtual Result<void*> end_recording(void* session);
  /// Queues the recorded work, with the addresses and sizes of that time.
  virtual Error replay(void* session, void* recording);
  /// Called once for each recording, before close(). Work that replays it may still be in progress.
  virtual void discard(void* session, void* recording);

 private:
  friend struct NestedDelegate;

  Span<const KernelTable> tables() const { return {tables_, table_count_}; }

  const char* name_;
  KernelTable tables_[kMaxTables];
  size_t table_count_ = 0;
  ConstantStore constants_{this};
};

}  // namespace berth
