// NestedDelegate: the handle of a NestedBackend. Private to backends/nested/.
#pragma once

#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "backends/nested/nested_backend.h"
#include "backends/nested/recordings.h"
#include "runtime/program.h"

namespace berth {

/// The constants of one delegate, for its inner Program.
class NestedConstants final : public NamedDataMap {
 public:
  NestedConstants(ConstantStore* store, const NamedDataMap* source, const DeviceUse& use)
      : store_(store), source_(source), use_(use) {}
  Result<FreeableBuffer> get(const char* key) const override;

 private:
  ConstantStore* store_;
  const NamedDataMap* source_;
  DeviceUse use_;
};

/// An output used as scratch: an arena of the inner method, whose memory is that of the call's output.
struct OutputScratch {
  size_t bytes = 0;  // 0: the output is not used as scratch
  size_t alignment = 1;
  void* address = nullptr;  // the arena's current address
  uint64_t needed = 0;      // of its bytes, at the sizes of the last call
};

/// The input that output is, too: the program changes it in place. kNoInput: the output is memory of its own.
constexpr size_t kNoInput = SIZE_MAX;

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};
/// From calloc.
using ZeroMemory = std::unique_ptr<void, FreeMemory>;

/// Lives in the outer method's memory, followed by the inner method's.
struct NestedDelegate {
  NestedDelegate(NestedBackend& of, Span<const uint8_t> file, uint32_t nested_version, const DelegateSource& source,
                 const DelegateLoad& load)
      : backend(of),
        use(load.use),
        device(source.device),
        version(nested_version),
        loader(file),
        constants(&of.constants_, source.named_data, load.use) {}
  ~NestedDelegate();

  Error load(const DelegateSource& source, const DelegateLoad& load, format::Report* report);
  Error execute(KernelContext& context, Span<EValue* const> args);
  void warm_up();
  Error argument_bytes(Span<const Span<const int32_t>> sizes, Span<uint64_t> bytes);

  /// The inner program of a payload of that version, checked.
  static Result<Program> open_program(const NestedBackend& backend, const DataLoader& loader, uint32_t version,
                                      const NamedDataMap* constants, bool verify, format::Report* report);
  /// The bytes of a delegate whose inner method needs `method_bytes`.
  static size_t total_bytes(size_t method_bytes);

  NestedBackend& backend;
  const DeviceUse use;
  const Device device;
  const uint32_t version;
  BufferLoader loader;
  NestedConstants constants;
  std::optional<Program> program;
  void* session = nullptr;
  bool opened = false;
  std::optional<MemoryAllocator> memory;
  std::optional<Method> method;
  size_t inputs = 0;
  size_t outputs = 0;
  bool has_scratch = false;
  // The scratch may lie elsewhere in each run; then its arena is deferred.
  bool scratch_moves = false;
  const void* fixed_scratch = nullptr;  // the argument at load, where it does not move
  void* moved_scratch = nullptr;        // as kernels reach that of the last call, where it does
  std::vector<uint64_t> arena_bytes;    // of each arena of the inner method: room for an answer
  // MethodOptions::read of the outer method, and the bytes that were passed to it.
  MemoryVisitor read = {nullptr, nullptr};
  uint64_t read_bytes = 0;
  std::vector<OutputScratch> output_scratch;  // of each output
  std::vector<size_t> changed_input;          // of each output: the input that it is, or kNoInput
  std::vector<bool> in_scratch;               // of inputs, then outputs: whether the call has it in its scratch
  bool narrows = false;                       // the output may lie at the front of the input (format/narrowing.h)
  std::vector<EValue*> planned_args;          // DelegateLoad::args, where runs are recorded
  Recordings recordings;
  std::vector<uint64_t> arguments;  // the key of this call (recordings.h)
  bool recordable = true;           // until a recording failed
  // The message of the last run; KernelContext keeps its address.
  char message[320] = "";

 private:
  class SettledObserver;

  // Input `index` of the nested program, or output `index - inputs`. REQUIRES: the method is loaded.
  const Tensor& inner_port(size_t index) const;
  static void prefault(void* delegate, Span<const uint8_t> constant);
  Error check_args(Span<EValue* const> args, format::Report* report) const;
  Error check_tensors(Span<EValue* const> args, format::Report* report) const;
  // Sets `arenas` to those of the inner method; outputs used as scratch have no address yet, and the scratch is set
  // later.
  Error find_arenas(std::vector<Span<uint8_t>>* arenas);
  void find_changed_inputs();
  void find_ports_in_scratch();
  // Whether output `output` of the call, which is an argument's index, shares bytes with an input that it must not.
  bool lies_over_input(Span<EValue* const> args, size_t output) const;
  Error give_output(size_t index, void* data, size_t bytes);
  Error give_scratch(KernelContext& context, Span<EValue* const> args);
  // The first input that overlaps an output used as scratch, and so would be overwritten before it is read; SIZE_MAX
  // when there is none.
  size_t overwritten_input() const;
  Error reach_scratch(Span<EValue* const> args, uint64_t bytes, void** scratch, format::Report* report) const;
  [[gnu::format(printf, 4, 5)]] Error fail(KernelContext& context, Error error, const char* format, ...);
  Error bind(KernelContext& context, Span<EValue* const> args);
  Error bind_argument(KernelContext& context, Span<EValue* const> args, size_t index);
  // Whether those inputs and outputs lie in the scratch that the program has there, each at its place. REQUIRES: the
  // scratch is given.
  Error check_ports_in_scratch(KernelContext& context, Span<EValue* const> args);
  Error run(KernelContext& context, Span<EValue* const> args);
  Error run_plainly(KernelContext& context, Span<EValue* const> args);
  void reserve_recordings(Span<EValue* const> args);
  void read_arguments();
  // A run that fails while it is recorded has run nothing; a plain run comes to the same error.
  enum class Recorded { kYes, kRunFailed, kNotByDevice };
  Recorded record(Recordings::Entry* entry);
  Error replay(KernelContext& context, const Recordings::Entry& entry, Span<EValue* const> args);
  void discard(Recordings::Entry* entry);
  Error bind_to(Span<uint8_t> memory, ZeroMemory* scratch);
  void smallest_sizes(size_t input, int32_t* sizes) const;
  void run_on_zeros();
  void record_planned();
  Error copy_sizes_out(KernelContext& context, Span<EValue* const> args);
  Error set_sizes(KernelContext& context, Span<EValue* const> args, size_t output, Span<const int32_t> sizes);
};

}  // namespace berth
