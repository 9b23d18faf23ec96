// Method: a loaded entry point of a program, ready to run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.h"
#include "base/span.h"
#include "format/report.h"
#include "runtime/kernel.h"
#include "runtime/method_meta.h"
#include "runtime/value.h"

namespace berth {

namespace internal {
struct MethodData;
}

/// The largest number of instructions in one execute(): a program that loops forever ends with InvalidProgram.
constexpr uint64_t kInstructionBudget = 10'000'000;

/// Created by Program::load_method. It lives in the caller's memory and owns its delegates' handles and one stream for
/// each device that it uses, so it must be destroyed before that memory is freed. Not thread-safe. No function
/// allocates from the heap.
class Method {
 public:
  explicit Method(internal::MethodData* data) : data_(data) {}
  /// `other` may then only be destroyed or assigned to.
  Method(Method&& other) noexcept : data_(other.data_) { other.data_ = nullptr; }
  Method& operator=(Method&& other) noexcept {
    Method moved(std::move(other));
    std::swap(data_, moved.data_);
    return *this;
  }
  ~Method();

  MethodMeta meta() const;
  size_t inputs_size() const;
  size_t outputs_size() const;

  /// Sets input `index`. `sizes` are those of the model; the elements are packed in the dimension order of the input's
  /// TensorInfo. If the input is memory-planned, `data` is copied. If it is not, it is used in place: then `data` must
  /// be aligned to the element size and live until the last execute(), and is written if the program writes its input.
  /// Set planned inputs before each run, because other values may reuse their bytes after the last read.
  ///
  /// `device` is the device of `data` and must equal that of the input (TensorInfo::device): device memory is used in
  /// place or copied within the device. Whatever fills `data` must have finished.
  ///
  /// InvalidArgument: no such input, or a wrong element type, rank or size, including sizes outside the ranges of
  /// symbolic dimensions if the file records them. MemoryAllocationFailed: an arena is too small for these sizes; the
  /// report says how many bytes they need, and which sizes fit. InvalidType: the input is not a tensor. NotSupported:
  /// it is on another device. Also the errors of the device's copy.
  Error set_input(size_t index, const void* data, Span<const int32_t> sizes, DType dtype, Device device = Device());

  /// Sets planned input `index` without its elements: the caller writes them where the input lies (get_input) before
  /// the run, as soon as it lies there. Nothing is copied; when other sizes move the input, its elements stay behind.
  ///
  /// Errors as set_input(); InvalidState when the input is not memory-planned.
  Error set_input_sizes(size_t index, Span<const int32_t> sizes, DType dtype);

  /// The same for a value of any kind. A tensor must have the input's dimension order. Numbers, booleans, strings and
  /// None were compiled into the program and must equal the values in the file (floating-point numbers approximately).
  /// InvalidArgument otherwise.
  Error set_input(size_t index, const EValue& value);

  /// Sets the memory of an output that is not memory-planned, on the output's device: at least TensorInfo::nbytes
  /// bytes, or with MethodOptions::small_outputs what the next runs need. It must live until the output has been read.
  /// InvalidState for a planned output; InvalidArgument for too few bytes or a pointer that is not aligned to the
  /// element size; NotSupported for another device.
  Error set_output_data_ptr(size_t index, void* data, size_t bytes, Device device = Device());

  /// Sets the memory of a deferred arena: one for which HierarchicalAllocator::arena(index) had a size and a null
  /// pointer when the method was loaded (index 0 is arena 1). Each such arena must have memory before the first run.
  /// The memory may change between runs; its contents are not moved. Takes time proportional to the number of values,
  /// unless the address is unchanged.
  ///
  /// An arena that follows the sizes needs memory for the sizes of the next run, planned_bytes(index); it loses its
  /// memory when the sizes change so that this is too little.
  ///
  /// InvalidArgument: no such arena, too few bytes, or an address that is not a multiple of
  /// MethodMeta::memory_planned_buffer_alignment. InvalidState: the arena had memory at load, or a run is in progress.
  Error set_planned_buffer(size_t index, void* memory, size_t bytes);

  /// Whether arenas follow the sizes of the inputs: the file says where tensors lie at any sizes (docs/plan.md), and
  /// all backends take part. Then an arena may be smaller than memory_planned_buffer_size(), and planned inputs and
  /// outputs lie elsewhere after set_input() with other sizes; of inputs, what was set since the last run is moved.
  bool follows_sizes() const;

  /// The bytes of each arena that runs with inputs of these sizes need; nothing changes, and arenas need no memory yet
  /// (a deferred one, HierarchicalAllocator). Arenas that do not follow the sizes need what
  /// memory_planned_buffer_size() says. `sizes` has an entry for each input, which is empty for those that are not
  /// tensors; `bytes` one for each arena. InvalidArgument for sizes that set_input() would refuse, and for other
  /// numbers of entries.
  Error planned_bytes(Span<const Span<const int32_t>> sizes, Span<uint64_t> bytes);
  /// The bytes that arena `index` needs as it was laid out last: for planned inputs by set_input(), otherwise by
  /// lay_out() or the last run; before that, at the largest sizes. InvalidArgument when there is no such arena.
  Result<uint64_t> planned_bytes(size_t index);
  /// Lays out the arenas for the inputs' sizes, as the run would do first; deferred ones may then be given memory for
  /// these sizes (set_planned_buffer). MemoryAllocationFailed when an arena with fixed memory is too small.
  Error lay_out();

  /// States: tensors that keep their values from one run to the next, such as a language model's caches. Not those that
  /// backends keep in memory of their own (ExecuTorch's do). Each call walks the value table.
  size_t num_states() const;
  /// The name of a state in the file; empty where the file has none for it, as ExecuTorch's exporter leaves it; null
  /// when there is no such state.
  const char* state_name(size_t index) const;
  /// The index of the state of this name, or of "state2" for state 2 if it has none. InvalidArgument when there is
  /// none.
  Result<size_t> find_state(const char* name) const;
  /// What it is; the spans live as long as the method. InvalidArgument when there is no such state.
  Result<TensorInfo> state_tensor_meta(size_t index) const;
  /// Copies a state to `data`, on the host, which has room for `bytes` bytes: the elements in the dimension order of
  /// its TensorInfo. InvalidArgument: no such state, null, or fewer bytes than TensorInfo::nbytes. InvalidState: a run
  /// that step() began is in progress. Also the errors of the device's copy.
  Error get_state(size_t index, void* data, size_t bytes);
  /// Sets a state to elements on the host, which lie as get_state() gives them; the next run goes on from there, in
  /// every method that shares the state. InvalidArgument also for another element type or other sizes; then nothing has
  /// changed.
  Error set_state(size_t index, const void* data, Span<const int32_t> sizes, DType dtype);

  /// Runs the method once, and waits for its devices. InvalidState when an input was never set, an output has no
  /// memory, or a run started by step() is in progress. An error of a kernel, delegate or device ends the run;
  /// execute() may be called again.
  Error execute();

  /// Warms up delegates (Backend::warm_up), so that the first execute() is not slower than others. Does not change what
  /// runs compute: it does nothing once a planned input is set for the next run, whose bytes a delegate may use. Must
  /// not be called during a run.
  void warm_up();

  /// Runs the next instruction, for profilers and debuggers. EndOfMethod when none was left; the next step() then
  /// begins a new run.
  Error step();
  /// Like step(), but does not log failures: for warm-up on made-up inputs.
  Error step_quietly();
  /// The instruction that step() runs next: 0 at the start of a run.
  size_t next_instruction() const;
  size_t num_instructions() const;
  /// The operator's name with overload, the delegate's backend, "move", "jump_false" or "free"; static or in the file.
  const char* instruction_name(size_t index) const;
  /// Sets the observer of each instruction, including those within delegates (runtime/observer.h); null for none. It
  /// must live until it is replaced or the Method is destroyed.
  void set_observer(InstructionObserver* observer);
  /// Ends a run that step() started, once devices have done what it has given them.
  void reset_execution();

  /// Output `index` of the last run; None when the index is out of range. A tensor's elements are in an arena (or in
  /// the caller's memory): the next run overwrites them, and so may other methods that share the arena. Host code must
  /// not dereference the address if Tensor::device() is not the host.
  EValue get_output(size_t index) const;
  /// Input `index`; None when the index is out of range.
  EValue get_input(size_t index) const;

  /// Why the last call failed: code, place ("methods[forward].instructions[17] aten::add.out") and sentence. The code
  /// is Ok when no call has failed.
  const format::Report& last_report() const;

 private:
  Error check_input(size_t index, Span<const int32_t> sizes, DType dtype, Device device);
  void mark_set(size_t index);
  Error move_input(size_t index, const void* data, size_t bytes, Device device);
  Error finish(Error error);
  Error check_input_sizes(size_t index, Span<const int32_t> sizes, bool in_place);
  Error resize_input(size_t index, Span<const int32_t> sizes);
  Error check_ports();
  Error begin();

  internal::MethodData* data_;
};

}  // namespace berth
