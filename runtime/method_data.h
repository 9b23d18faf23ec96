// The insides of a Method, for the files of this room alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/program_view.h"
#include "format/report.h"
#include "runtime/backend.h"
#include "runtime/device_map.h"
#include "runtime/kernel.h"
#include "runtime/memory.h"
#include "runtime/signature.h"
#include "runtime/value.h"

namespace berth {
class Program;
}

namespace berth::internal {

/// What a delegate finds by key: the program's own blobs, then those beside it.
class ProgramBlobs final : public NamedDataMap {
 public:
  explicit ProgramBlobs(const Program* program) : program_(program) {}
  Result<FreeableBuffer> get(const char* key) const override;
  /// One for all methods of a program.
  const void* identity() const override { return program_; }

 private:
  const Program* program_;
};

/// One of the method's delegates.
struct Delegate {
  /// No instruction calls it: then it is not loaded.
  static constexpr size_t kNoCall = SIZE_MAX;

  const char* name = "";
  Backend* backend = nullptr;
  /// Null until it is loaded.
  DelegateHandle* handle = nullptr;
  FreeableBuffer payload;
  DelegateSource source;
  DelegateMemory needed;
  MemoryAllocator memory{Span<uint8_t>()};
  /// The instruction that calls it, the first of several.
  size_t call = kNoCall;
};

/// One instruction with all that it names looked up.
struct Instruction {
  enum class Kind : uint8_t {
    kKernel,         // `kernel` on args[0 .. count)
    kCheckedKernel,  // the same, after a check of what earlier instructions may have changed
    kMove,           // *args[1] = *args[0]
    kJumpFalse,      // to instruction `count` when *args[0] is false
    kFree,           // nothing: planned memory is not given back
    kDelegate,       // `delegate` on args[0 .. count)
  };
  union {
    const KernelEntry* kernel;
    Delegate* delegate;
  };
  EValue** args;
  /// Of a kernel: what its `prepare` made.
  void* state;
  uint32_t count;
  Kind kind;
};

/// An input or output.
struct Port {
  /// The tensor that the file puts there, whatever a move makes of the value; null for other kinds.
  Tensor* tensor;
  uint32_t value;
  bool planned;
  bool set;
};

/// What is true of a tensor throughout.
enum TensorFlags : uint8_t {
  kConstantTensor = 1,     // its elements lie in the file and are never written
  kViewTensor = 2,         // its data pointer is moved by a kernel; its own memory, if any, is not used
  kCallerInputTensor = 4,  // its memory is the caller's, as large as the input's sizes were
  kCallerTensor = 8,       // its memory is given after the load: by the caller, or never when a method is only measured
  kLateTensor = 16,        // beside kCallerTensor: it lies in an arena that is given after the load
};

enum ValueFlags : uint8_t {
  /// Instructions replace it, or its elements or tensor are replaced: calls that read it are checked anew.
  kVolatileValue = 1,
  // What the program does with a tensor, by the first instruction that mentions it (method_state.cc).
  kReadFirst = 2,    // reads it, or changes a part of it
  kMadeFirst = 4,    // gives it all of its bytes
  kGiven = 8,        // an input, a constant, or state with a name or an initial value
  kNamedFirst = 16,  // makes it a name of what is another's
};

struct MethodCounts {
  size_t values = 0;
  size_t tensors = 0;
  size_t strides = 0;  // ranks of all tensors
  size_t sizes = 0;    // ranks of those whose sizes change
  size_t items = 0;    // elements of lists of values
  size_t instructions = 0;
  size_t args = 0;
  size_t operators = 0;
  size_t inputs = 0;
  size_t outputs = 0;
  size_t symbols = 0;
  size_t devices = 0;  // without the host
  size_t delegates = 0;
  size_t specs = 0;      // of all delegates
  size_t externals = 0;  // tensors whose data lie in another file
  size_t delegate_blocks = 0;
};

/// Delegates' own memory is carved in these.
struct alignas(16) DelegateBlock {
  uint8_t bytes[16];
};

struct MethodData {
  const fb::ExecutionPlan* plan = nullptr;
  const fb::MethodMeta* meta = nullptr;
  MethodCounts counts;

  EValue* values = nullptr;  // counts.values, then one that is None
  Tensor* tensors = nullptr;
  int64_t* strides = nullptr;
  int32_t* sizes = nullptr;
  EValue** items = nullptr;
  Instruction* instructions = nullptr;
  size_t resolved = 0;  // instructions that are there
  EValue** args = nullptr;
  const KernelEntry** kernels = nullptr;  // one an operator
  Port* inputs = nullptr;
  Port* outputs = nullptr;
  int64_t* symbols = nullptr;
  uint8_t* value_flags = nullptr;
  uint8_t* tensor_flags = nullptr;

  DeviceUse* devices = nullptr;
  Delegate* delegates = nullptr;
  CompileSpec* specs = nullptr;
  FreeableBuffer* externals = nullptr;  // by address, once all are there
  size_t external_count = 0;
  size_t late_tensors = 0;  // in arenas that have no memory yet
  DelegateBlock* delegate_blocks = nullptr;

  // Where constants of the file itself lie: never written.
  Span<const uint8_t> read_only[2];
  Span<uint8_t> temp;
  ThreadPool* pool = nullptr;
  void* user = nullptr;
  MemoryFetcher fetch = {nullptr, nullptr};
  MemoryZeroer zero = {nullptr, nullptr};  // during the load
  InstructionObserver* observer = nullptr;
  ProgramBlobs blobs{nullptr};
  DeviceMap device_map;

  size_t position = 0;
  uint64_t executed = 0;
  bool running = false;
  bool rehearsing = false;
  bool ports_checked = false;
  format::Report report;

  uint8_t& flags_of(const Tensor& tensor) { return tensor_flags[&tensor - tensors]; }
  bool is_read_only(const void* address) const;
  DeviceTable device_table() const { return DeviceTable({devices, counts.devices}); }
};

/// Whether two runs of bytes share some.
inline bool overlap(Span<const uint8_t> a, Span<const uint8_t> b) {
  const uintptr_t start = reinterpret_cast<uintptr_t>(a.data());
  const uintptr_t other = reinterpret_cast<uintptr_t>(b.data());
  return !a.empty() && !b.empty() && start < other + b.size() && other < start + a.size();
}

/// Waits for the work on every stream; the first error.
Error synchronize(MethodData& data);

/// Gives back what the method took besides its memory: kernels' states, delegates, streams, buffers of loaders.
void release(MethodData& data);

/// Copies on the stream of `device`, complete on return. REQUIRES: the method uses the device.
Error upload(MethodData& data, Device device, void* target, const void* source, size_t bytes);
Error upload_zeros(MethodData& data, Device device, void* target, size_t bytes);
Error copy_within(MethodData& data, Device device, void* target, const void* source, size_t bytes);

/// Takes a method's arrays out of an allocator; or, without one, only adds up what they take from an address that is a
/// multiple of 16.
class Carver {
 public:
  explicit Carver(MemoryAllocator* allocator) : allocator_(allocator) {}

  template <typename T>
  T* take(size_t count) {
    size_t bytes = 0;
    // NOLINTNEXTLINE(bugprone-sizeof-expression): T may be a pointer.
    ok_ = ok_ && !__builtin_mul_overflow(count, sizeof(T), &bytes) && bytes < SIZE_MAX / 4 && bytes_ < SIZE_MAX / 4;
    if (!ok_) return nullptr;
    bytes_ = (bytes_ + alignof(T) - 1) / alignof(T) * alignof(T) + bytes;
    if (allocator_ == nullptr) return nullptr;
    T* result = allocator_->allocate_list<T>(count);
    ok_ = result != nullptr;
    return result;
  }

  bool ok() const { return ok_; }
  size_t bytes() const { return bytes_; }

 private:
  MemoryAllocator* allocator_;
  size_t bytes_ = 0;
  bool ok_ = true;
};

/// When a call is looked at: before the first run, when memory that the caller gives and volatile values are still
/// open; or right before it runs.
enum class When : uint8_t { kLoad, kRun };

/// Whether instruction `index`, a call with this signature, may run: tags, memory, and that it writes nothing that must
/// not be written or resized. Fills `report` otherwise: InvalidType for a tag, InvalidProgram or InvalidState for
/// memory.
Error check_call(MethodData& data, size_t index, const Signature& signature, When when, format::Report* report);

/// The same for a delegate's call: its tensors are on its device or the host's, have memory, and what it writes may be
/// written.
Error check_delegate_call(MethodData& data, size_t index, When when, format::Report* report);

/// Whether `entry` is one of prim_kernels(): called without the repeated result.
bool is_prim(const KernelEntry* entry);

/// Runs at most `limit` more instructions. EndOfMethod when none is left.
Error run(MethodData& data, uint64_t limit);

/// Whether the sizes of input `index` lie in the ranges of the symbols that stand for them alone; and whether the
/// dimensions of all inputs agree with each other. InvalidArgument otherwise, with the dimension in the method's
/// report. Files without symbols pass.
Error check_symbol_ranges(MethodData& data, size_t index, Span<const int32_t> sizes);
Error check_symbol_relations(MethodData& data);

/// "methods[forward].instructions[17] aten::add.out"
void instruction_place(const MethodData& data, size_t index, char (&place)[96]);

}  // namespace berth::internal
