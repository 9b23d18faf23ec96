// Method: one entry point of a program, with its values laid out and its kernels found, ready to run.
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

/// How many instructions one execute() may run; a program that would run for ever ends with InvalidProgram instead.
constexpr uint64_t kInstructionBudget = 10'000'000;

/// Made by Program::load_method. It lies in the caller's memory, and owns its delegates' handles and one stream for
/// each device that it uses, which go with it: so it must be destroyed before its memory is. Used by one thread at a
/// time. No function of it takes memory from the heap.
class Method {
 public:
  explicit Method(internal::MethodData* data) : data_(data) {}
  /// The other one may then only be destroyed or assigned to.
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

  /// Gives input `index` its elements: `sizes` as the model has them, elements packed in the dimension order that the
  /// input's TensorInfo has. A planned input is copied from `data`; another is used where it lies, so `data` must then
  /// live until the last execute(), at a multiple of the element size, and is written if the program itself writes its
  /// input. Set planned inputs before each run: the plan may give their bytes to other values after the last read.
  ///
  /// `device` says where `data` lies; it must be where the input is (TensorInfo::device). So memory of a device is used
  /// in place by an input there that is not planned, and copied within the device to one that is. It is the caller's
  /// part that what fills it is done by then.
  ///
  /// InvalidArgument: no such input, or another element type, rank or sizes than the input can have, also against the
  /// ranges of symbolic dimensions if the file has them. InvalidType: the input is no tensor. NotSupported: it is on
  /// another device. Also what the device's copy returns.
  Error set_input(size_t index, const void* data, Span<const int32_t> sizes, DType dtype, Device device = Device());

  /// The same for a value of any kind. A tensor must have the input's dimension order. Numbers, booleans, texts and
  /// None were compiled into the program: they must equal what the file has (numbers nearly). InvalidArgument
  /// otherwise.
  Error set_input(size_t index, const EValue& value);

  /// Memory for an output that is not planned: `bytes` is at least the output's largest size (TensorInfo::nbytes), on
  /// `device`, which is the output's. Must live until the output was read. InvalidState for a planned output,
  /// InvalidArgument for too few bytes or a pointer that is no multiple of the element size, NotSupported for another
  /// device.
  Error set_output_data_ptr(size_t index, void* data, size_t bytes, Device device = Device());

  /// Memory for planned buffer `index` (0 is arena 1), which had none when the method was loaded: there
  /// HierarchicalAllocator::arena(index) had its size and a null pointer. Each such buffer must have memory before the
  /// first run, and may get another between two runs; what was in it is then not looked for. The same memory again need
  /// not be said again; time is that of a look at each value of the method.
  ///
  /// InvalidArgument: no such buffer, too few bytes, or an address that is no multiple of
  /// MethodMeta::memory_planned_buffer_alignment. InvalidState: it was given its memory at load, or a run is not over.
  Error set_planned_buffer(size_t index, void* memory, size_t bytes);

  /// Runs the method once, and waits for what is under way on its devices. InvalidState when an input was never set, an
  /// output has no memory, or a run that step() began is not over. The error of a kernel, a delegate or a device ends
  /// the run; a later execute() begins anew.
  Error execute();

  /// For loads after which the first run shall be as fast as others: lets delegates rehearse (Backend::warm_up). What
  /// runs compute does not change. Not during a run.
  void warm_up();

  /// Runs the next instruction alone, for profilers and debuggers: execute() in slices. EndOfMethod when there was none
  /// left; the next step() then begins a new run.
  Error step();
  /// step() for a rehearsal on made-up inputs: a failure is not logged.
  Error rehearse_step();
  /// The instruction that step() runs next: 0 at the start of a run.
  size_t next_instruction() const;
  size_t num_instructions() const;
  /// What an instruction does: the operator's name with overload, the delegate's backend, "move", "jump_false" or
  /// "free"; static or in the file.
  const char* instruction_name(size_t index) const;
  /// Who is told of each instruction from now on (runtime/observer.h), those within delegates included; null: nobody.
  /// Must live until it is replaced or the Method is gone.
  void set_observer(InstructionObserver* observer);
  /// Ends a run that step() began.
  void reset_execution();

  /// Output `index` of the last run; None for an index that is not there. A tensor's memory is the arena's (or the
  /// caller's): it is overwritten by the next run, and may be by other methods that share the arena. Where it lies is
  /// what Tensor::device() says; host code must not follow another device's address.
  EValue get_output(size_t index) const;
  /// Input `index` as the method sees it.
  EValue get_input(size_t index) const;

  /// Why the last call failed: code, place ("methods[forward].instructions[17] aten::add.out") and sentence. Its code
  /// is Ok when no call has failed.
  const format::Report& last_report() const;

 private:
  Error move_input(size_t index, const void* data, size_t bytes, Device device);
  Error finish(Error error);
  Error check_input_sizes(size_t index, Span<const int32_t> sizes);
  Error check_ports();
  Error begin();

  internal::MethodData* data_;
};

}  // namespace berth
