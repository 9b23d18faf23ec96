#include "runtime/host/module.h"

#include <cstdio>
#include <cstring>
#include <utility>

#include "base/math.h"
#include "runtime/host/dim_order_copy.h"
#include "runtime/host/file_loader.h"
#include "runtime/host/module_data.h"

namespace berth {

/// A method, and room for its inputs where the caller's tensors cannot be used as they are.
struct Module::Loaded {
  explicit Loaded(HostMethod host_method) : method(std::move(host_method)), inputs(method.method().inputs_size()) {}

  struct Input {
    HostBuffer reordered;
    DeviceMemoryBuffer on_device;
  };

  HostMethod method;
  std::vector<Input> inputs;
};

struct Module::State {
  explicit State(MappedFileLoader file) : loader(std::move(file)) {}

  MappedFileLoader loader;
  internal::ModuleData data;
  std::unique_ptr<ObservedDevices> devices;  // null: no observer
  std::unique_ptr<Program> program;
  std::unique_ptr<HostArenas> arenas;            // of all methods, if they share them
  std::vector<std::unique_ptr<Loaded>> methods;  // by the program's index; null: not loaded
  ThreadPool* pool = nullptr;
  EventObserver* events = nullptr;
  bool share_arenas = false;
  bool resident = false;
  Report report;

  Error fail(Error code, const char* place, const char* message) {
    return format::fail(&report, code, place, "%s", message);
  }
  /// `error` with what the method said about it.
  Error fail(Error error, const Method& method) {
    report = method.last_report();
    return error;
  }
  size_t index_of(const char* name) const;
  Error load_at(size_t index);
};

namespace {

// Where in the program a failure is: "methods[forward].inputs[2]".
struct Port {
  char text[96];
  Port(const char* method, const char* list, size_t index) {
    std::snprintf(text, sizeof text, "methods[%.48s].%s[%zu]", method, list, index);
  }
};

// The bytes of a tensor for this input, if it is one that Method::set_input takes.
Result<size_t> bytes_of(const TensorInput& input, const TensorInfo& info) {
  uint64_t bytes = element_size(info.dtype);
  bool fits = input.dtype() == info.dtype && input.sizes().size() == info.sizes.size();
  for (const int32_t size : input.sizes()) {
    fits = fits && size >= 0 && checked_mul(bytes, static_cast<uint64_t>(size), &bytes);
  }
  if (!fits || bytes > info.nbytes) return Error::kInvalidArgument;
  return bytes;
}

// Whether `tensor` has room for `numel` elements and can have these sizes.
bool takes(const Tensor& tensor, DType dtype, size_t rank, int64_t numel) {
  return tensor.device().is_cpu() && tensor.dtype() == dtype && tensor.sizes().size() == rank &&
         tensor.is_contiguous() && tensor.dynamism() == ShapeDynamism::kBounded && numel <= tensor.capacity();
}

// Makes entry `index` of `outputs` a tensor of `sizes`; a new one has room for `bounds`.
Result<Tensor*> prepare(std::vector<OwnedTensor>& outputs, size_t index, DType dtype, Span<const int32_t> sizes,
                        Span<const int32_t> bounds) {
  int64_t numel = 1;
  for (const int32_t size : sizes) numel *= size;
  if (index >= outputs.size() || !takes(outputs[index].tensor(), dtype, sizes.size(), numel)) {
    BERTH_ASSIGN_OR_RETURN(OwnedTensor made, OwnedTensor::make(dtype, bounds, Device(), {}, ShapeDynamism::kBounded));
    if (index < outputs.size()) {
      outputs[index] = std::move(made);
    } else {
      outputs.push_back(std::move(made));
    }
  }
  Tensor& tensor = outputs[index].tensor();
  BERTH_RETURN_IF_ERROR(tensor.resize(sizes));
  return &tensor;
}

template <typename T>
Error put_number(std::vector<OwnedTensor>& outputs, size_t index, DType dtype, T number) {
  BERTH_ASSIGN_OR_RETURN(Tensor* const tensor, prepare(outputs, index, dtype, {}, {}));
  *tensor->data<T>() = number;
  return Error::kOk;
}

Error put_tensor(std::vector<OwnedTensor>& outputs, size_t index, const Tensor& source, const TensorInfo& info,
                 const DeviceAllocatorRegistry& registry) {
  BERTH_ASSIGN_OR_RETURN(Tensor* const target, prepare(outputs, index, source.dtype(), source.sizes(), info.sizes));
  const size_t bytes = source.nbytes();
  if (bytes == 0) return Error::kOk;
  const void* data = source.raw();
  const Device device = source.device();
  HostBuffer downloaded;
  if (!device.is_cpu()) {
    DeviceAllocator* const allocator = registry.get_allocator(device.type);
    if (allocator == nullptr) return Error::kNotFound;
    void* here = target->raw();
    if (!source.is_contiguous()) {
      BERTH_ASSIGN_OR_RETURN(downloaded, HostBuffer::make(bytes));
      here = downloaded.bytes().data();
    }
    BERTH_RETURN_IF_ERROR(allocator->copy_device_to_host(here, data, bytes, device.index));
    if (source.is_contiguous()) return Error::kOk;
    data = here;
  }
  copy_to_dim_order(data, source.dim_order(), target->raw(), {}, source.sizes(), element_size(source.dtype()));
  return Error::kOk;
}

// Where the elements of an input are, in the dimension order and on the device that the program wants. Null for a
// tensor that Method::set_input refuses anyway, and says why.
Result<const void*> place_input(const TensorInput& input, const TensorInfo& info, HostBuffer& reordered,
                                DeviceMemoryBuffer& on_device, const DeviceAllocatorRegistry& registry) {
  const void* data = input.data();
  const Result<size_t> bytes = bytes_of(input, info);
  if (!bytes.ok() || data == nullptr) return static_cast<const void*>(nullptr);
  const bool same_order = same_dim_order(input.dim_order(), info.dim_order, info.sizes.size());
  if (!input.device().is_cpu()) return same_order ? Result<const void*>(data) : Error::kNotSupported;
  if (!same_order) {
    if (reordered.bytes().size() < *bytes) {
      BERTH_ASSIGN_OR_RETURN(reordered, HostBuffer::make(info.nbytes));
    }
    copy_to_dim_order(data, input.dim_order(), reordered.bytes().data(), info.dim_order, input.sizes(),
                      element_size(info.dtype));
    data = reordered.bytes().data();
  }
  if (info.device.is_cpu() || *bytes == 0) return data;
  if (on_device.size() < *bytes) {
    BERTH_ASSIGN_OR_RETURN(
        on_device, DeviceMemoryBuffer::create(info.nbytes, info.device, DeviceAllocator::kDefaultAlignment, registry));
  }
  BERTH_RETURN_IF_ERROR(
      registry.get_allocator(info.device.type)->copy_host_to_device(on_device.data(), data, *bytes, info.device.index));
  return static_cast<const void*>(on_device.data());
}

}  // namespace

size_t Module::State::index_of(const char* name) const {
  size_t index = 0;
  while (index < program->num_methods() && std::strcmp(program->method_name(index), name) != 0) ++index;
  return index;
}

Error Module::State::load_at(size_t index) {
  if (methods[index] != nullptr) return Error::kOk;
  HostOptions options;
  options.pool = pool;
  options.arenas = arenas.get();
  options.report = &report;
  options.resident = resident;
  options.events = events;
  BERTH_ASSIGN_OR_RETURN(HostMethod method, HostMethod::load(*program, program->method_name(index), options));
  methods[index] = std::make_unique<Loaded>(std::move(method));
  return Error::kOk;
}

Module::Module(std::unique_ptr<State> state) : state_(std::move(state)) {}
Module::Module(Module&& other) noexcept = default;
Module& Module::operator=(Module&& other) noexcept = default;
Module::~Module() = default;

Result<Module> Module::load(const char* path, KernelTable kernels, const ModuleOptions& options) {
  return load(path, Span<const KernelTable>(&kernels, 1), options);
}

Result<Module> Module::load(const char* path, Span<const KernelTable> kernels, const ModuleOptions& options) {
  BERTH_ASSIGN_OR_RETURN(MappedFileLoader loader, MappedFileLoader::open(path, options.report));
  auto state = std::make_unique<State>(std::move(loader));
  state->pool = options.pool;
  state->share_arenas = options.share_arenas;
  state->resident = options.resident;
  state->events = options.events;
  EventScope scope(options.events, Event::Kind::kLoad, "", "program");
  LoadOptions load;
  load.verification = options.verification;
  load.registry = options.registry;
  if (options.events != nullptr) {
    const auto& own = options.registry == nullptr ? DeviceAllocatorRegistry::instance() : *options.registry;
    state->devices = std::make_unique<ObservedDevices>(own, options.events);
    load.registry = &state->devices->registry();
  }
  load.backends = options.backends;
  load.devices = options.devices;
  load.external = &state->data;
  load.report = options.report;
  Result<Program> program = Program::load(state->loader, kernels, load);
  if (!program.ok()) return scope.ends_with(program.error());
  state->program = std::make_unique<Program>(std::move(*program));
  state->methods.resize(state->program->num_methods());
  BERTH_RETURN_IF_ERROR(scope.ends_with(state->data.open(*state->program, path, options.data_files, options.report)));
  return Module(std::move(state));
}

const Program& Module::program() const { return *state_->program; }
const Report& Module::last_report() const { return state_->report; }

bool Module::is_loaded(const char* name) const {
  const size_t index = state_->index_of(name);
  return index < state_->methods.size() && state_->methods[index] != nullptr;
}

Error Module::unload_method(const char* name) {
  const size_t index = state_->index_of(name);
  if (index == state_->methods.size()) return state_->fail(Error::kInvalidArgument, name, "no such method");
  if (state_->share_arenas) {
    return state_->fail(Error::kInvalidState, name, "methods with shared arenas are unloaded with the Module");
  }
  state_->methods[index] = nullptr;
  return Error::kOk;
}

Result<Module::Loaded*> Module::find_loaded(const char* name) {
  State& state = *state_;
  const size_t index = state.index_of(name);
  if (index == state.methods.size()) return state.fail(Error::kInvalidArgument, name, "the program has no such method");
  if (state.share_arenas && state.methods[index] == nullptr) {
    if (state.arenas == nullptr) {
      BERTH_ASSIGN_OR_RETURN(HostArenas arenas, HostArenas::make(*state.program, &state.report));
      state.arenas = std::make_unique<HostArenas>(std::move(arenas));
    }
    for (size_t i = 0; i < state.methods.size(); ++i) BERTH_RETURN_IF_ERROR(state.load_at(i));
  }
  BERTH_RETURN_IF_ERROR(state.load_at(index));
  return state.methods[index].get();
}

Result<HostMethod*> Module::load_method(const char* name) {
  BERTH_ASSIGN_OR_RETURN(Loaded* const loaded, find_loaded(name));
  return &loaded->method;
}

Result<std::vector<OwnedTensor>> Module::forward(std::initializer_list<TensorInput> inputs) {
  return forward(Span<const TensorInput>(inputs.begin(), inputs.size()));
}

Result<std::vector<OwnedTensor>> Module::forward(Span<const TensorInput> inputs) { return execute("forward", inputs); }

Result<std::vector<OwnedTensor>> Module::execute(const char* method, Span<const TensorInput> inputs) {
  std::vector<OwnedTensor> outputs;
  BERTH_RETURN_IF_ERROR(run(method, inputs, &outputs));
  return outputs;
}

Error Module::run(const char* method, Span<const TensorInput> inputs, std::vector<OwnedTensor>* outputs) {
  BERTH_ASSIGN_OR_RETURN(Loaded* const loaded, find_loaded(method));
  BERTH_RETURN_IF_ERROR(set_inputs(*loaded, inputs));
  const Error error = loaded->method.execute();
  if (error != Error::kOk) return state_->fail(error, loaded->method.method());
  return get_outputs(*loaded, outputs);
}

Error Module::set_inputs(Loaded& loaded, Span<const TensorInput> inputs) {
  Method& method = loaded.method.method();
  const MethodMeta meta = method.meta();
  size_t next = 0;
  for (size_t i = 0; i < method.inputs_size(); ++i) {
    const Result<TensorInfo> info = meta.input_tensor_meta(i);
    if (!info.ok()) {  // a number or text, which was compiled into the program
      const Error error = method.set_input(i, method.get_input(i));
      if (error != Error::kOk) return state_->fail(error, method);
      continue;
    }
    if (next == inputs.size()) {
      return state_->fail(Error::kInvalidArgument, Port(meta.name(), "inputs", i).text,
                          "the method takes more tensors than were given");
    }
    BERTH_RETURN_IF_ERROR(set_tensor(loaded, i, *info, inputs[next++]));
  }
  if (next == inputs.size()) return Error::kOk;
  return state_->fail(Error::kInvalidArgument, Port(meta.name(), "inputs", next).text,
                      "more tensors were given than the method takes");
}

Error Module::set_tensor(Loaded& loaded, size_t index, const TensorInfo& info, const TensorInput& input) {
  Method& method = loaded.method.method();
  Loaded::Input& room = loaded.inputs[index];
  const Result<const void*> data =
      place_input(input, info, room.reordered, room.on_device, state_->program->registry());
  if (!data.ok()) {
    const bool order = data.error() == Error::kNotSupported;
    return state_->fail(data.error(), Port(method.meta().name(), "inputs", index).text,
                        order ? "a tensor on a device must have the dimension order of the program's input"
                              : "the tensor cannot be copied to where the program wants it");
  }
  const Device device = input.device().is_cpu() ? info.device : input.device();
  const Error error = method.set_input(index, *data, input.sizes(), input.dtype(), device);
  return error == Error::kOk ? error : state_->fail(error, method);
}

Error Module::get_outputs(Loaded& loaded, std::vector<OwnedTensor>* outputs) {
  Method& method = loaded.method.method();
  const MethodMeta meta = method.meta();
  while (outputs->size() > method.outputs_size()) outputs->pop_back();
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    const EValue value = method.get_output(i);
    Error error = Error::kNotSupported;
    if (value.is_tensor()) {
      BERTH_ASSIGN_OR_RETURN(const TensorInfo info, meta.output_tensor_meta(i));
      error = put_tensor(*outputs, i, value.tensor(), info, state_->program->registry());
    } else if (value.is_int()) {
      error = put_number(*outputs, i, DType::kI64, value.to_int());
    } else if (value.is_double()) {
      error = put_number(*outputs, i, DType::kF64, value.to_double());
    } else if (value.is_bool()) {
      error = put_number(*outputs, i, DType::kBool, value.to_bool());
    }
    if (error == Error::kOk) continue;
    return state_->fail(error, Port(meta.name(), "outputs", i).text,
                        error == Error::kNotSupported ? "is neither a tensor nor a number; Method::get_output() has it"
                                                      : "cannot be copied to a tensor on the host");
  }
  return Error::kOk;
}

}  // namespace berth
