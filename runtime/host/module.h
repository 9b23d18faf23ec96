// Module: a program by its path, with everything that it needs to run: tensors in, tensors out.
//
//     Result<Module> module = Module::load("model.pte", portable::kernels());
//     const float pixels[3 * 224 * 224] = {…};
//     const int32_t sizes[] = {1, 3, 224, 224};
//     Result<std::vector<OwnedTensor>> out = module->forward({{pixels, sizes}});
//     if (!out.ok()) puts(module->last_report().message);
//     const float* scores = (*out)[0].tensor().data<float>();
//
// For code that knows no more of a program than its path. Code that provides all memory itself uses Program and Method
// (runtime/program.h); code that wants inputs and outputs without copies, HostMethod (host_method.h).
//
// What takes memory from the heap, and when:
//   - load(): the tables of the file; the file itself is mapped;
//   - load_method(), or the first run of a method: all memory that the method needs (HostMethod);
//   - forward() and execute(): the tensors that they return;
//   - run(): tensors that are not there yet or too small, and room for inputs that have to be reordered or copied to a
//     device, the first time. So from the second run on with inputs of the same sizes it takes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/span.h"
#include "runtime/host/device_tensor.h"
#include "runtime/host/host_method.h"
#include "runtime/program.h"

namespace berth {

/// A tensor that is read: elements of the caller's, which must live until the call returns.
class TensorInput {
 public:
  TensorInput(const Tensor& tensor)  // NOLINT(google-explicit-constructor): so that tensors may be listed as they are
      : data_(tensor.raw()),
        sizes_(tensor.sizes()),
        dim_order_(tensor.dim_order()),
        dtype_(tensor.dtype()),
        device_(tensor.device()) {}
  TensorInput(const OwnedTensor& tensor) : TensorInput(tensor.tensor()) {}  // NOLINT(google-explicit-constructor)
  /// A row-major tensor. `sizes` must live as long as the elements.
  TensorInput(const void* data, Span<const int32_t> sizes, DType dtype, Device device = Device())
      : data_(data), sizes_(sizes), dtype_(dtype), device_(device) {}
  TensorInput(const float* data, Span<const int32_t> sizes) : TensorInput(data, sizes, DType::kF32) {}
  TensorInput(const int64_t* data, Span<const int32_t> sizes) : TensorInput(data, sizes, DType::kI64) {}

  const void* data() const { return data_; }
  Span<const int32_t> sizes() const { return sizes_; }
  /// Outermost dimension first; empty: row-major.
  Span<const uint8_t> dim_order() const { return dim_order_; }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }

 private:
  const void* data_;
  Span<const int32_t> sizes_;
  Span<const uint8_t> dim_order_;
  DType dtype_;
  Device device_;
};

struct ModuleOptions {
  /// As LoadOptions has them.
  Verification verification = Verification::kFull;
  const DeviceAllocatorRegistry* registry = nullptr;
  Span<Backend* const> backends;
  Span<const DeviceMapping> devices;
  /// The paths of data files (.ptd). If there are none, and the program needs one: the file beside the program with its
  /// name, model.ptd for model.pte.
  std::vector<std::string> data_files;
  /// Null: everything runs on the calling thread. Must outlive the Module.
  ThreadPool* pool = nullptr;
  /// Whether all methods have the same arenas, as methods that share state need it (HostArenas::make). All methods are
  /// then loaded together, by the first load_method() or run.
  bool share_arenas = false;
  /// HostOptions::resident.
  bool resident = false;
  /// Told of loads, runs, instructions, copies and memory (runtime/host/events.h). Must outlive the Module.
  EventObserver* events = nullptr;
  /// Filled when load() fails; may be null.
  Report* report = nullptr;
};

/// Move-only. Used by one thread at a time, like a Method.
class Module {
 public:
  /// Maps the file and checks it; methods are loaded when they are first used. `kernels`, the backends and the
  /// registry must outlive the Module; the spans and `options` need not. The file must not change meanwhile.
  ///
  /// NotFound or AccessFailed when the program or a data file cannot be opened; errors as Program::load and
  /// DataFile::open.
  static Result<Module> load(const char* path, Span<const KernelTable> kernels, const ModuleOptions& options = {});
  static Result<Module> load(const char* path, KernelTable kernels, const ModuleOptions& options = {});

  Module(Module&& other) noexcept;
  Module& operator=(Module&& other) noexcept;
  ~Module();

  /// The names and descriptions of methods, inputs and outputs: Program::method_name(), Program::method_meta().
  const Program& program() const;

  /// Loads the method unless it is loaded. The result belongs to the Module, and is valid until unload_method(): its
  /// Method has inputs and outputs without copies, step(), and observers. Errors as HostMethod::load.
  Result<HostMethod*> load_method(const char* name);
  bool is_loaded(const char* name) const;
  /// Frees the method's memory; its state is lost. InvalidArgument when there is no such method, InvalidState with
  /// ModuleOptions::share_arenas.
  Error unload_method(const char* name);

  /// Runs the method "forward"; otherwise as execute().
  Result<std::vector<OwnedTensor>> forward(std::initializer_list<TensorInput> inputs);
  Result<std::vector<OwnedTensor>> forward(Span<const TensorInput> inputs);

  /// Runs a method, and gives its outputs: on the host, row-major, in memory of their own. A number or truth value is a
  /// tensor without dimensions, of i64, f64 or bool.
  ///
  /// `inputs` are those that are tensors, in order: numbers and texts were compiled into the program. They may be on
  /// the host or where the program wants them, in any dimension order on the host. An input that is not memory-planned
  /// (TensorInfo) is used where it lies, and written if the program writes its inputs.
  ///
  /// InvalidArgument: no such method, another number of tensors, or one of another type or size; NotSupported: a
  /// tensor on another device than the program's, or an output that is neither a tensor nor a number. Errors as
  /// load_method() and Method::execute.
  Result<std::vector<OwnedTensor>> execute(const char* method, Span<const TensorInput> inputs);

  /// The same into `outputs`, whose tensors are used again where they are large enough and of the same type and rank.
  /// On failure their elements are unspecified.
  Error run(const char* method, Span<const TensorInput> inputs, std::vector<OwnedTensor>* outputs);

  /// Why the last call failed: code, place and sentence. The code is Ok when no call has failed.
  const Report& last_report() const;

 private:
  struct State;
  struct Loaded;

  explicit Module(std::unique_ptr<State> state);
  Result<Loaded*> find_loaded(const char* name);
  Error set_inputs(Loaded& loaded, Span<const TensorInput> inputs);
  Error set_tensor(Loaded& loaded, size_t index, const TensorInfo& info, const TensorInput& input);
  Error get_outputs(Loaded& loaded, std::vector<OwnedTensor>* outputs);

  // What methods and their programs point to must not move when the Module does.
  std::unique_ptr<State> state_;
};

}  // namespace berth
