// The data of a Method. Private to runtime/.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/program_view.h"
#include "format/report.h"
#include "runtime/arrivals.h"
#include "runtime/backend.h"
#include "runtime/device_map.h"
#include "runtime/kernel.h"
#include "runtime/memory.h"
#include "runtime/pending_reads.h"
#include "runtime/signature.h"
#include "runtime/stacks.h"
#include "runtime/value.h"

namespace berth {
class Program;
}

namespace berth::internal {

/// The blobs that delegates can use: the program's own, then those of data files.
class ProgramBlobs final : public NamedDataMap {
 public:
  explicit ProgramBlobs(const Program* program) : program_(program) {}
  Result<FreeableBuffer> get(const char* key) const override;
  /// The same for all methods of a program.
  const void* identity() const override { return program_; }

 private:
  const Program* program_;
};

/// One of the method's delegates.
struct Delegate {
  /// Value of `call` if no instruction calls the delegate; it is then not loaded.
  static constexpr size_t kNoCall = SIZE_MAX;

  const char* name = "";
  Backend* backend = nullptr;
  /// Null until it is loaded.
  DelegateHandle* handle = nullptr;
  FreeableBuffer payload;
  DelegateSource source;
  DelegateMemory needed;
  MemoryAllocator memory{Span<uint8_t>()};
  /// The first instruction that calls it.
  size_t call = kNoCall;
};

/// A resolved instruction.
struct Instruction {
  enum class Kind : uint8_t {
    kKernel,         // `kernel` on args[0 .. count)
    kCheckedKernel,  // the same, after checking arguments that earlier instructions may have changed
    kMove,           // *args[1] = *args[0]
    kJumpFalse,      // to instruction `count` when *args[0] is false
    kFree,           // nothing: planned memory is not freed
    kDelegate,       // `delegate` on args[0 .. count)
  };
  union {
    const KernelEntry* kernel;
    Delegate* delegate;
  };
  EValue** args;
  /// Of a kernel: the state that its `prepare` made; of a copy between devices, MethodData::pending, and of one to the
  /// host, MethodData::arrivals.
  void* state;
  uint32_t count;
  Kind kind;
};

/// An input or output.
struct Port {
  /// The tensor of the value in the file, even if a move changes the value; null for values of other kinds.
  Tensor* tensor;
  uint32_t value;
  bool planned;
  bool set;
  bool fresh;  // set since the last run
  bool stays;  // but for its elements (Method::set_input_sizes), so that there is nothing to move
};

/// Facts about a tensor that do not change.
enum TensorFlags : uint8_t {
  kConstantTensor = 1,     // its elements are in the file and are never written
  kViewTensor = 2,         // a kernel sets its data pointer; its own memory, if any, is not used
  kCallerInputTensor = 4,  // an input in the caller's memory, as large as the sizes that were set
  kCallerTensor = 8,       // the caller sets its memory after the load, or never if the method is only measured
  kDeferredTensor = 16,    // with kCallerTensor: it is in a deferred arena (Method::set_planned_buffer)
  kChangedTensor = 64,     // with kCallerInputTensor: of fixed sizes, and an output as well, so it may be written
  kRowTensor = 32,         // as kViewTensor, but a row that instructions write; null when a run begins
};

enum ValueFlags : uint8_t {
  /// Instructions replace it, its elements or its tensor, so calls that read it are checked each time.
  kVolatileValue = 1,
  // What the first instruction that mentions a tensor does with it (method_state.cc).
  kReadFirst = 2,    // reads it, or writes a part of it
  kMadeFirst = 4,    // writes all of it
  kGiven = 8,        // an input, a constant, or state with a name or an initial value
  kNamedFirst = 16,  // makes it a view of another tensor
  kStateValue = 32,  // it got an initial value at load
};

struct MethodCounts {
  size_t values = 0;
  size_t tensors = 0;
  size_t strides = 0;  // ranks of all tensors
  size_t sizes = 0;    // ranks of tensors with dynamic sizes
  size_t items = 0;    // elements of lists of values
  size_t instructions = 0;
  size_t args = 0;
  size_t operators = 0;
  size_t inputs = 0;
  size_t outputs = 0;
  size_t symbols = 0;
  size_t devices = 0;  // not counting the host
  size_t delegates = 0;
  size_t specs = 0;      // of all delegates
  size_t externals = 0;  // tensors whose data are in another file
  size_t delegate_blocks = 0;
  // Of arenas that follow the sizes (stacks.h); 0 where none does.
  size_t stacks = 0;
  size_t stacked_tensors = 0;
  size_t blocks = 0;
  size_t call_args = 0;   // of the delegate's call that has most
  size_t call_sizes = 0;  // ranks of all tensors of such a call
  size_t if_stacked(size_t count) const { return stacks == 0 ? 0 : count; }
};

/// The unit in which delegates' own memory is allocated.
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
  size_t resolved = 0;  // instructions resolved so far
  EValue** args = nullptr;
  Parameter* parameters = nullptr;        // counts.if_stacked(counts.args): those of each kCheckedKernel, by argument
  const KernelEntry** kernels = nullptr;  // of each operator
  Port* inputs = nullptr;
  Port* outputs = nullptr;
  int64_t* symbols = nullptr;
  uint8_t* value_flags = nullptr;
  uint8_t* tensor_flags = nullptr;

  DeviceUse* devices = nullptr;
  Delegate* delegates = nullptr;
  CompileSpec* specs = nullptr;
  FreeableBuffer* externals = nullptr;  // sorted by address when complete
  size_t external_count = 0;
  size_t deferred_tensors = 0;  // in arenas that have no memory yet
  DelegateBlock* delegate_blocks = nullptr;

  StackedArena* stacks = nullptr;
  StackedTensor* stacked = nullptr;
  int32_t* stacked_of = nullptr;  // by value; -1: in no such arena
  uint64_t* block_begins = nullptr;
  uint64_t* block_ends = nullptr;
  InputMove* moves = nullptr;
  int64_t* laid_out_symbols = nullptr;
  bool laid_out = false;      // the tensors lie as laid_out_symbols want it
  bool raised = false;        // an input took more than its symbols say
  size_t setting = SIZE_MAX;  // the input that is being set
  // Of the call of a delegate that is asked what it needs.
  int32_t* call_sizes = nullptr;
  Span<const int32_t>* call_spans = nullptr;
  uint64_t* call_bytes = nullptr;
  ArenaFollower follow;

  // The ranges of the file's own constants, which are never written.
  Span<const uint8_t> read_only[2];
  Span<uint8_t> temp;
  ThreadPool* pool = nullptr;
  void* user = nullptr;
  MemoryFetcher fetch = {nullptr, nullptr};
  MemoryZeroer zero = {nullptr, nullptr};  // during the load
  InstructionObserver* observer = nullptr;
  PendingReads pending;
  Arrivals arrivals;
  ProgramBlobs blobs{nullptr};
  DeviceMap device_map;

  size_t position = 0;
  uint64_t executed = 0;
  bool running = false;
  bool quiet = false;
  bool ports_checked = false;
  bool small_outputs = false;
  bool has_rows = false;  // some tensor is a kRowTensor
  format::Report report;

  uint8_t& flags_of(const Tensor& tensor) { return tensor_flags[&tensor - tensors]; }
  bool is_read_only(const void* address) const;
  /// All streams were waited for.
  void clear_copies() {
    pending.clear();
    arrivals.clear();
  }
  /// Whether it is one of these, which a kernel does not release.
  bool owns(const void* state) const { return state == &pending || state == &arrivals; }
  DeviceTable device_table() const { return DeviceTable({devices, counts.devices}); }
};

/// Whether two ranges of bytes overlap.
inline bool overlap(Span<const uint8_t> a, Span<const uint8_t> b) {
  const uintptr_t start = reinterpret_cast<uintptr_t>(a.data());
  const uintptr_t other = reinterpret_cast<uintptr_t>(b.data());
  return !a.empty() && !b.empty() && start < other + b.size() && other < start + a.size();
}

/// Waits for the work on every stream; returns the first error.
Error synchronize(MethodData& data);

/// Releases what the method owns besides its memory: kernels' states, delegates, streams, buffers of loaders.
void release(MethodData& data);

/// Copies on the stream of `device`, complete on return. REQUIRES: the method uses the device.
Error upload(MethodData& data, Device device, void* target, const void* source, size_t bytes);
Error upload_zeros(MethodData& data, Device device, void* target, size_t bytes);
Error copy_within(MethodData& data, Device device, void* target, const void* source, size_t bytes);
/// From `device`, also the host, to the host.
Error download(MethodData& data, Device device, void* target, const void* source, size_t bytes);

/// Allocates a method's arrays; without an allocator, only counts their bytes, starting at a multiple of 16.
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

/// When a call is checked: at load, when the caller's memory and volatile values are still unknown, or right before it
/// runs.
enum class When : uint8_t { kLoad, kRun };

/// Checks that instruction `index`, a call with this signature, may run: its arguments' tags and memory, and that it
/// writes and resizes only what it may. Otherwise fills `report`: InvalidType for a tag, InvalidProgram or InvalidState
/// for memory.
Error check_call(MethodData& data, size_t index, Span<const Parameter> parameters, When when, format::Report* report);

/// The same for a delegate's call: its tensors must be on its device or the host and have memory, and those that it
/// writes must be writable.
Error check_delegate_call(MethodData& data, size_t index, When when, format::Report* report);

/// Rows of the last run may be in memory that the caller has freed since: none is written before it is found again.
void forget_rows(MethodData& data);

/// Before `instruction` runs: devices whose bytes it writes wait for the copies that may still read them, and the host
/// for copies to what it uses. Where that fails, `*what` says what: the device's own words (device_explanation.h) where
/// it has said why, valid until it says more.
Error settle_before(MethodData& data, const Instruction& instruction, const char** what);
/// The same for all copies to the host.
Error settle_all_arrivals(MethodData& data, const char** what);
/// And for all copies between devices.
Error settle_all(MethodData& data, const char** what);

/// Whether `entry` is one of prim_kernels(), which are called without the repeated result.
bool is_prim(const KernelEntry* entry);

/// Runs at most `limit` instructions. EndOfMethod when none is left.
Error run(MethodData& data, uint64_t limit);

/// The first checks the sizes of input `index` against the ranges of their symbols, the second against what relations
/// the file has between them, the third that the dimensions of all inputs agree with each other. InvalidArgument
/// otherwise, with the dimension in the method's report. Files without symbols pass. `unknown_is_good`: so does a size
/// of -1.
Error check_symbol_ranges(MethodData& data, size_t index, Span<const int32_t> sizes, bool unknown_is_good = false);
Error check_own_relations(MethodData& data, size_t index, Span<const int32_t> sizes);
Error check_symbol_relations(MethodData& data, const InputSizes& sizes);

/// "methods[forward].instructions[17] aten::add.out"
void instruction_place(const MethodData& data, size_t index, char (&place)[96]);

}  // namespace berth::internal
