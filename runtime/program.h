// Program: a program file, loaded and checked. The runtime's first door.
//
//     BufferLoader loader(file);
//     Result<Program> program = Program::load(loader, portable::kernels(), {});
//     Result<Method> method = program->load_method("forward", memory);
//     method->set_input(0, data, sizes, DType::kF32);
//     method->execute();
//     const Tensor& out = method->get_output(0).tensor();
//
// Nothing here takes memory from the heap: what a Program needs lies in it, what a Method needs the caller brings.
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
  /// Only what keeps a sound file from being misread. For files that one made oneself: a damaged one may crash.
  kMinimal,
  /// Every index, offset, size and name in the file, before anything is used; and, when a method is loaded, that
  /// nothing
  /// in its memory plan overwrites what is still to be read. The second needs as much method memory as memory_needed
  /// says.
  kFull,
};

struct LoadOptions {
  Verification verification = Verification::kFull;
  /// The allocators of devices; null: DeviceAllocatorRegistry::instance(). Must outlive the Program.
  const DeviceAllocatorRegistry* registry = nullptr;
  /// What runs delegates, at most Program::kMaxBackends. The backends must outlive the Program; the span need not.
  Span<Backend* const> backends;
  /// At most DeviceMap::kMax, each `from` once; the host is not mapped. The span need not outlive load().
  Span<const DeviceMapping> devices;
  /// Where constants lie that the file names but has not got; null: nowhere. Must outlive the Program.
  const NamedDataMap* external = nullptr;
  /// Filled when load() fails; may be null.
  Report* report = nullptr;
};

/// What a method is loaded with besides its memory.
struct MethodOptions {
  /// Null: everything runs on the calling thread. Must outlive the Method.
  ThreadPool* pool = nullptr;
  /// Filled when load_method() fails; may be null.
  Report* report = nullptr;
  /// For kernels and delegates that need more than their arguments: KernelContext::user(). Must outlive the Method.
  void* user = nullptr;
  /// Told of each constant that a run reads from end to end (not of tables of which it picks rows), right before its
  /// kernel is made ready, so that the host can bring its pages in at once. Delegates do the same.
  MemoryVisitor read = {nullptr, nullptr};
  /// Asked for parts of constants of which a run reads little, rows of an embedding say, which are not read in place
  /// then. The system maps 64 KB and more of a file around each byte that is touched; reading a row of 1 KB from the
  /// file leaves memory as it is. Without it such parts are copied like all memory. Delegates do the same.
  MemoryFetcher fetch = {nullptr, nullptr};
  /// Sets state on the host that begins as zeros; without it that is memset, which touches all of it. A host whose
  /// arenas are pages of the system's can have it give new ones, which are taken when they are first written.
  MemoryZeroer zero = {nullptr, nullptr};
};

/// How much memory a method needs on this machine, its delegates included.
struct MemoryNeeded {
  /// For the temp memory of a method whose values were not looked at, see Program::memory_needed.
  static constexpr size_t kUnknown = SIZE_MAX;

  /// Bytes of the method allocator, from an address that is a multiple of 16.
  size_t method_bytes = 0;
  /// Bytes of the temp memory, from an address that is a multiple of 64.
  size_t temp_bytes = kUnknown;
  /// Bytes of all arenas together; each by itself: MethodMeta.
  uint64_t arena_bytes = 0;
};

/// Immutable after load(): several threads may use one Program. Movable, but not while it is used.
class Program {
 public:
  /// How many tables of kernels a Program takes.
  static constexpr size_t kMaxTables = 8;
  /// How many backends a Program takes.
  static constexpr size_t kMaxBackends = 8;

  /// Reads the file's program part and its constants (no copies when the loader maps), checks them and keeps them. A
  /// kernel is looked for in the tables in their order, then among the primitive operators; so an application's own
  /// kernels go first. The entries of the tables and the loader must outlive the Program; the span need not.
  ///
  /// Backends and devices are looked for when a method is loaded: a file whose devices this machine has not got can be
  /// loaded and looked at.
  ///
  /// InvalidProgram for a file that is wrong; InvalidArgument for memory that is misaligned, too many tables, a null
  /// backend or a mapping that makes no sense; the loader's errors. `options.report` then says where and why, and so
  /// does the log hook.
  static Result<Program> load(const DataLoader& loader, Span<const KernelTable> tables,
                              const LoadOptions& options = {});
  static Result<Program> load(const DataLoader& loader, KernelTable kernels, const LoadOptions& options = {});

  size_t num_methods() const;
  /// Null-terminated, in the file; null for an index that is not there.
  const char* method_name(size_t index) const;

  /// InvalidArgument when there is no such method.
  Result<MethodMeta> method_meta(const char* name) const;
  Result<MethodMeta> method_meta(size_t index) const;

  /// What load_method takes for this method, computed by the code that takes it, without taking anything. The temp
  /// bytes depend on kernels, sizes and the number of threads: they are computed when `scratch` has room for
  /// method_bytes bytes, in which the method's values are then laid out, and are MemoryNeeded::kUnknown when it has
  /// not. Errors as load_method, except those of arenas.
  ///
  /// The payloads of delegates are checked in full, also where the program was loaded with Verification::kMinimal;
  /// whatever else that did not check is trusted.
  Result<MemoryNeeded> memory_needed(const char* name, Span<uint8_t> scratch = {}, int threads = 1,
                                     Report* report = nullptr) const;

  /// Makes a method ready to run: arenas must be as MethodMeta says, on their devices. State gets its initial value, on
  /// whatever device it lies; state without one is zeroed. Delegates are loaded, one stream is made for each
  /// device that the method uses. The Program, the memory and what is in `options` must outlive the Method; the Program
  /// must not move while a Method of it lives.
  ///
  /// Whatever can be said without taking anything is checked first; when something fails later, what was taken
  /// (streams, delegates) is given back.
  ///
  /// InvalidArgument: no such method, or arenas that are missing, misaligned, on another device or among the other
  /// memory. MemoryAllocationFailed: memory too small; the report has the number that is needed. OperatorMissing: the
  /// report names the first kernel that is not there and how many more are missing. NotFound: a backend or device that
  /// is not there. InvalidExternalData: constants beside the file that are too short. InvalidProgram, InvalidType,
  /// NotSupported: a file that is wrong or asks for what no runtime does. Also what devices and backends return.
  Result<Method> load_method(const char* name, const MemoryManager& memory, const MethodOptions& options) const;
  Result<Method> load_method(const char* name, const MemoryManager& memory, ThreadPool* pool = nullptr,
                             Report* report = nullptr) const {
    return load_method(name, memory, MethodOptions{pool, report, nullptr});
  }

  /// A blob of the file by its key; NotFound when there is none. Read through the loader.
  Result<FreeableBuffer> named_data(const char* key) const;

  /// Those that were given at load, or DeviceAllocatorRegistry::instance().
  const DeviceAllocatorRegistry& registry() const { return *registry_; }
  /// Null when none was given that has this name.
  Backend* find_backend(const char* name) const;
  /// Of several with this name, the first that serves `type`; if none does, the first.
  Backend* find_backend(const char* name, DeviceType type) const;
  /// What a device of the file is here.
  const DeviceMap& devices() const { return devices_; }

  /// The entry of the first table that has the operator; null when none has. `overload` may be empty or null.
  const KernelEntry* find_kernel(const char* name, const char* overload) const;

  /// The file's tables, for tools that look deeper.
  format::ProgramView view() const;

 private:
  friend class internal::MethodLoader;
  friend class internal::ProgramBlobs;

  Program() = default;
  Error take(Span<const KernelTable> tables, const LoadOptions& options, Report* report);
  Error read(Report* report);
  Error load_constants(Report* report);
  Error load_names(Verification verification, Report* report);
  Result<FreeableBuffer> load_segment(uint32_t index) const;
  Result<FreeableBuffer> blob(const char* key) const;
  Result<FreeableBuffer> delegate_payload(const fb::BackendDelegate& delegate) const;
  const fb::ExecutionPlan* find_plan(const char* name, Report* report) const;
  const fb::MethodMeta* names_of(const fb::ExecutionPlan& plan) const;
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
  DeviceMap devices_;
  const NamedDataMap* external_ = nullptr;
};

}  // namespace berth
