// Program: a program file, loaded and checked. Start here to run one.
//
//     BufferLoader loader(file);
//     Result<Program> program = Program::load(loader, portable::kernels(), {});
//     Result<Method> method = program->load_method("forward", memory);
//     method->set_input(0, data, sizes, DType::kF32);
//     method->execute();
//     const Tensor& out = method->get_output(0).tensor();
//
// Nothing here allocates from the heap: a Program contains all that it needs, and the caller provides a Method's
// memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "base/span.h"
#include "format/report.h"
#include "runtime/backend.h"
#include "runtime/data_loader.h"
#include "runtime/device_allocator.h"
#include "runtime/device_map.h"
#include "runtime/kernel.h"
#include "runtime/memory.h"
#include "runtime/method.h"
#include "runtime/method_meta.h"
#include "runtime/named_data.h"

namespace berth {

namespace format {
class ProgramView;
}
namespace fb {
struct Meta;
struct BackendDelegate;
}  // namespace fb
namespace internal {
class MethodLoader;
class ProgramBlobs;
}  // namespace internal

using format::Report;

enum class Verification : uint8_t {
  /// Only what a valid file needs to be read correctly. For trusted files: a damaged one may crash.
  kMinimal,
  /// Every index, offset, size and name in the file, before anything is used; and, when a method is loaded, that
  /// nothing in its memory plan overwrites bytes that are still to be read. The second check needs method memory, which
  /// memory_needed() counts.
  kFull,
};

struct LoadOptions {
  Verification verification = Verification::kFull;
  /// The allocators of devices; null: DeviceAllocatorRegistry::instance(). Must outlive the Program.
  const DeviceAllocatorRegistry* registry = nullptr;
  /// The backends that may run delegates, at most Program::kMaxBackends. They must outlive the Program; the span need
  /// not.
  Span<Backend* const> backends;
  /// Devices to use instead of those in the file: at most DeviceMap::kMax, each `from` once for all methods and once
  /// for each, and never the host. The span and the names in it need not outlive load().
  Span<const DeviceMapping> devices;
  /// Constants that the file names but does not contain; may be null. Must outlive the Program.
  const NamedDataMap* external = nullptr;
  /// Filled when load() fails; may be null.
  Report* report = nullptr;
};

/// Options of load_method().
struct MethodOptions {
  /// Null: everything runs on the calling thread. Must outlive the Method.
  ThreadPool* pool = nullptr;
  /// Filled when load_method() fails; may be null.
  Report* report = nullptr;
  /// Application data for kernels and delegates: KernelContext::user(). Must outlive the Method.
  void* user = nullptr;
  /// Called for each constant that a run reads completely (not for tables of which it reads rows), right before its
  /// kernel is prepared, so that the application can prefault its pages. Delegates do the same.
  MemoryVisitor read = {nullptr, nullptr};
  /// Called to copy parts of constants of which a run reads little, such as rows of an embedding, so that they need not
  /// be read in place. The system maps 64 KB and more of a file around each byte that is touched; reading a row of 1 KB
  /// from the file does not. If null, such parts are copied from memory. Delegates do the same.
  MemoryFetcher fetch = {nullptr, nullptr};
  /// Called to clear state on the host; if null, memset is used, which touches all of it. An application whose arenas
  /// are pages of the system can replace them with zero pages, which take memory only when they are first written.
  MemoryZeroer zero = {nullptr, nullptr};
  /// Whether outputs of dynamic sizes may get less memory than their largest sizes need; a run that needs more is
  /// refused.
  bool small_outputs = false;
  /// Told how many bytes of an arena that follows the sizes the next runs use, when that changes.
  ArenaFollower follow = {nullptr, nullptr};
};

/// The memory that a method needs on this machine, its delegates included.
struct MemoryNeeded {
  /// temp_bytes when there was too little scratch memory to compute it; see Program::memory_needed().
  static constexpr size_t kUnknown = SIZE_MAX;

  /// Bytes of the method memory, at an address that is a multiple of 16.
  size_t method_bytes = 0;
  /// Bytes of the temp memory, at an address that is a multiple of 64 (kTempAlignment).
  size_t temp_bytes = kUnknown;
  /// Bytes of all arenas together; MethodMeta has the size of each.
  uint64_t arena_bytes = 0;
};

/// Immutable after load(): several threads may use one Program. Must not be moved while a Method of it lives.
class Program {
 public:
  /// The largest number of kernel tables.
  static constexpr size_t kMaxTables = 8;
  /// The largest number of backends.
  static constexpr size_t kMaxBackends = 8;

  /// Loads and checks the program and its constants, without copies if the loader maps the file. Kernels are looked up
  /// in the tables in order, then among the primitive operators; so put an application's own kernels first. The loader
  /// and the entries of the tables must outlive the Program; the span need not.
  ///
  /// Backends and devices are looked up when a method is loaded, so a file for devices that this machine does not have
  /// can be loaded and inspected.
  ///
  /// InvalidProgram for an invalid file; InvalidArgument for misaligned memory, too many tables, a null backend or an
  /// invalid device mapping, such as one that puts state that methods share on two devices; the loader's errors.
  /// `options.report` and the log hook say where and why.
  static Result<Program> load(const DataLoader& loader, Span<const KernelTable> tables,
                              const LoadOptions& options = {});
  static Result<Program> load(const DataLoader& loader, KernelTable kernels, const LoadOptions& options = {});

  size_t num_methods() const;
  /// Null-terminated, in the file; null when the index is out of range.
  const char* method_name(size_t index) const;

  /// InvalidArgument when there is no such method.
  Result<MethodMeta> method_meta(const char* name) const;
  Result<MethodMeta> method_meta(size_t index) const;

  /// The memory that load_method() needs for this method. method_bytes and arena_bytes are always computed. temp_bytes
  /// depends on kernels, sizes and the number of threads: it is computed if `scratch` has at least method_bytes bytes,
  /// in which the method's values are then laid out, and is MemoryNeeded::kUnknown otherwise; so call it twice. Errors
  /// as load_method(), except those about arenas.
  ///
  /// Delegate payloads are always fully verified, even if the program was loaded with Verification::kMinimal.
  Result<MemoryNeeded> memory_needed(const char* name, Span<uint8_t> scratch = {}, int threads = 1,
                                     Report* report = nullptr) const;

  /// Loads a method, ready to run. Arenas must have the sizes, alignments and devices that MethodMeta says. State gets
  /// its initial value, on whatever device it is, or zeros if it has none. Delegates are loaded, and one stream is
  /// created for each device that the method uses. The Program, the memory and the objects in `options` must outlive
  /// the Method; the Program must not move while the Method lives.
  ///
  /// Checks as much as possible before acquiring anything; if something fails later, all that was acquired (streams,
  /// delegates) is released.
  ///
  /// InvalidArgument: no such method, or arenas that are missing, misaligned, on another device or overlap other
  /// memory. MemoryAllocationFailed: too little memory; the report says how much is needed. OperatorMissing: the report
  /// names the first missing kernel and counts the others. NotFound: a backend or device is missing.
  /// InvalidExternalData: external constants are too short. InvalidProgram, InvalidType, NotSupported: the file is
  /// invalid or uses what no runtime supports. Also the errors of devices and backends.
  Result<Method> load_method(const char* name, const MemoryManager& memory, const MethodOptions& options) const;
  Result<Method> load_method(const char* name, const MemoryManager& memory, ThreadPool* pool = nullptr,
                             Report* report = nullptr) const {
    return load_method(name, memory, MethodOptions{pool, report, nullptr});
  }

  /// The blob of the file with this key, read through the loader; NotFound when there is none.
  Result<FreeableBuffer> named_data(const char* key) const;

  /// LoadOptions::registry, or DeviceAllocatorRegistry::instance().
  const DeviceAllocatorRegistry& registry() const { return *registry_; }
  /// The first backend with this name; null when there is none.
  Backend* find_backend(const char* name) const;
  /// The first backend with this name that serves `type`; if none does, the first with this name.
  Backend* find_backend(const char* name, DeviceType type) const;
  /// The mapping from devices of the file to devices of this machine, for a method. REQUIRES: method < num_methods().
  DeviceMap devices(size_t method) const { return devices_.of(method); }

  /// The entry of the first table that has the operator; null when there is none. `overload` may be empty or null.
  const KernelEntry* find_kernel(const char* name, const char* overload) const;

  /// The tables of the file, for tools.
  format::ProgramView view() const;

 private:
  friend class internal::MethodLoader;
  friend class internal::ProgramBlobs;

  Program() = default;
  Error take(Span<const KernelTable> tables, const LoadOptions& options, Report* report);
  Error read(Report* report);
  Error load_constants(Report* report);
  Error map_devices(Span<const DeviceMapping> mappings, Report* report);
  Error check_shared_state(Report* report) const;
  Error load_names(Verification verification, Report* report);
  Result<FreeableBuffer> load_segment(uint32_t index) const;
  Result<FreeableBuffer> blob(const char* key) const;
  Result<FreeableBuffer> delegate_payload(const fb::BackendDelegate& delegate) const;
  const fb::ExecutionPlan* find_plan(const char* name, Report* report) const;
  const fb::MethodMeta* names_of(const fb::ExecutionPlan& plan) const;
  size_t index_of(const fb::ExecutionPlan& plan) const;
  Error constant(uint32_t index, uint64_t nbytes, const void** data) const;

  const DataLoader* loader_ = nullptr;
  FreeableBuffer program_;
  uint64_t file_size_ = 0;
  FreeableBuffer constants_;
  uint64_t constants_offset_ = 0;  // in the file
  FreeableBuffer names_bytes_;
  const fb::Meta* names_ = nullptr;
  Verification verification_ = Verification::kFull;
  KernelTable tables_[kMaxTables];
  size_t table_count_ = 0;
  Backend* backends_[kMaxBackends] = {};
  size_t backend_count_ = 0;
  const DeviceAllocatorRegistry* registry_ = nullptr;
  ProgramDeviceMap devices_;
  const NamedDataMap* external_ = nullptr;
};

}  // namespace berth
