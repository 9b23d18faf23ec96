// NestedBackend: runs nested programs (format/nested.h) with tables of kernels, on one kind of device. A backend says
// what is particular to its device and inherits the rest.
//
//     class MyBackend final : public NestedBackend {
//      public:
//       MyBackend() : NestedBackend("berth.mine", tables) {}
//       bool serves(DeviceType type) const override { return type == DeviceType::kMine; }
//     };
//
// A delegate is an inner Program and Method, in the memory of the outer method:
//   payload     verified in full, and held to check_nested.h, before it is used
//   constants   named data of the outer program: in place on the host, else uploaded once per blob and device
//   inputs      where the outer program has them: no copies
//   scratch     the call's last argument, present when the nested program's first arena has more than 0 bytes
//   outputs     where the outer program has them; until one is written, other values of the nested program may lie in
//               its bytes (format/nested.h), which then begin where its arena's alignment says, and no input may be
//               there
//   temp        the outer method's
//   sizes       dynamic ones go in with the inputs, and come back to the outer outputs after the run
// Its inner method believes that all of it is the host's: it never follows an address itself (check_nested.h holds that
// where kernels do not run on the host).
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/nested/constant_store.h"
#include "runtime/backend.h"

namespace berth {

struct NestedDelegate;

/// Must outlive its delegates. execute() takes nothing from the heap; everything may be called from several threads.
class NestedBackend : public Backend, private AddressSpace {
 public:
  static constexpr size_t kMaxTables = 4;

  const char* name() const final { return name_; }
  Error memory_needed(const DelegateSource& source, Span<uint8_t> scratch, int threads, DelegateMemory* needed,
                      format::Report* report) const final;
  Result<DelegateHandle*> load(const DelegateSource& source, const DelegateLoad& load, format::Report* report) final;
  Error execute(DelegateHandle* handle, KernelContext& context, Span<EValue* const> args) final;
  /// On the host; other devices have their own ways. Runs the first instructions, for at most about three quarters of a
  /// millisecond, on zeros.
  void warm_up(DelegateHandle* handle) final;
  void unload(DelegateHandle* handle) final;

  /// The constants that delegates hold now.
  const ConstantStore& constants() const { return constants_; }

 protected:
  /// `name` is static. The entries of the tables must outlive the backend; a kernel is looked for in their order, then
  /// among the primitive operators. REQUIRES: at most kMaxTables.
  NestedBackend(const char* name, Span<const KernelTable> tables);
  /// With one table.
  NestedBackend(const char* name, KernelTable table) : NestedBackend(name, Span<const KernelTable>(&table, 1)) {}
  ~NestedBackend() override = default;

  // What is particular to a device. The defaults are those of kernels that run on the host, on its memory.

  /// Where kernels find memory of the device (AddressSpace::reach). Called at load, and for each argument of each call.
  Error reach(const DeviceUse& use, void* address, size_t bytes, void** reached) const override;
  /// Whether kernels run on the host, so that host code may follow what reach() gives.
  virtual bool host_kernels() const { return true; }

  /// What the kernels of one delegate find in KernelContext::user(): its stream, handles of libraries. Called at load,
  /// after the payload was checked; an error ends the load.
  virtual Result<void*> open(const DelegateSource& source, const DelegateLoad& load, format::Report* report);
  /// Called once for each open() that succeeded, after the last run.
  virtual void close(void* session);
  /// Around each run: `begin` before the first kernel, an error of it ends the run; `end` after the last one, with what
  /// the run gave, if `begin` succeeded; its result is the run's. `context` is the outer call's, for fail().
  virtual Error begin(void* session, KernelContext& context);
  virtual Error end(void* session, KernelContext& context, Error result);

 private:
  friend struct NestedDelegate;

  Span<const KernelTable> tables() const { return {tables_, table_count_}; }

  const char* name_;
  KernelTable tables_[kMaxTables];
  size_t table_count_ = 0;
  ConstantStore constants_{this};
};

}  // namespace berth
