#include "python/method.h"

#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

#include "backends/cpu/thread_pool.h"
#include "python/casters.h"
#include "python/errors.h"
#include "python/record.h"
#include "runtime/host/dim_order_copy.h"
#include "runtime/host/thread_pool.h"
#include "tools/names.h"
#include "tools/reports.h"

namespace nb = nanobind;

namespace berth::python {
namespace {

// Results of this many bytes are copied without the interpreter's lock.
constexpr size_t kLargeCopy = size_t{64} << 10;

constexpr char kMethodText[] =
    "A method, loaded and ready to be called with arrays: in order, or by the names of its inputs.\n\n"
    "Arrays are what has the buffer protocol or DLPack (NumPy, torch, CuPy), and numbers and lists of them. Element "
    "type\n"
    "and number of dimensions have to be those of the input; any strides will do, and those that the method has "
    "itself\n"
    "are not copied twice. Returns a tuple: NumPy arrays in memory of their own, a berth.Tensor for an element type "
    "that\n"
    "NumPy does not have, a number for an output that is one, and None for an output that is bound.\n\n"
    "Any thread may call it; others wait meanwhile. The interpreter's lock is released while it runs.";

}  // namespace

std::unique_ptr<MethodObject> MethodObject::load(std::shared_ptr<LoadedProgram> program, std::shared_ptr<Arenas> arenas,
                                                 const MethodRequest& request) {
  std::unique_ptr<MethodObject> self(new MethodObject);
  const Result<MethodMeta> meta = program->program().method_meta(request.name.c_str());
  if (!meta.ok()) {
    std::string names;
    for (size_t i = 0; i < program->program().num_methods(); ++i) {
      names += std::string(i == 0 ? "" : ", ") + program->program().method_name(i);
    }
    raise(meta.error(), program->place(), "has no method " + request.name + "; there are: " + names);
  }
  if (request.threads < 1 || request.threads > HostThreadPool::kMaxThreads) {
    raise(
        Error::kInvalidArgument, "threads",
        "expected 1 to " + std::to_string(HostThreadPool::kMaxThreads) + ", found " + std::to_string(request.threads));
  }
  self->name_ = request.name;
  self->threads_ = request.threads;
  self->copy_ = request.copy;
  self->pool_ = make_cpu_thread_pool(request.threads);
  Report report;
  HostArenas::View view;
  HostOptions options;
  options.pool = self->pool_.get();
  options.report = &report;
  options.resident = request.resident;
  if (arenas != nullptr) {
    view = arenas->view(*meta);
    options.callers = &view;
    self->in_use_ = arenas->in_use(view);
  } else {
    self->in_use_.push_back(std::make_shared<InUse>());
  }
  // It writes its states and constants there.
  const Turn turn(self->in_use_, "method " + request.name);
  if (arenas != nullptr) arenas->check_loading("method " + request.name);
  Result<HostMethod> method = HostMethod::load(program->program(), request.name.c_str(), options);
  if (!method.ok()) raise(method.error(), report, program->place());
  self->method_ = std::make_unique<HostMethod>(std::move(method).value());
  if (arenas != nullptr && self->method_->method().num_states() > 0) arenas->set_has_states();
  self->program_ = std::move(program);
  self->arenas_ = std::move(arenas);
  self->describe();
  return self;
}

MethodObject::~MethodObject() = default;

void MethodObject::describe() {
  const Method& method = method_->method();
  const MethodMeta meta = method.meta();
  inputs_.resize(method.inputs_size());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    inputs_[i].name = tool::port_name(meta.input_names(i).name, true, i);
    const Result<TensorInfo> info = meta.input_tensor_meta(i);
    inputs_[i].is_tensor = info.ok();
    if (info.ok()) inputs_[i].info = *info;
  }
  outputs_.resize(method.outputs_size());
  for (size_t i = 0; i < outputs_.size(); ++i) {
    Output& output = outputs_[i];
    output.name = tool::port_name(meta.output_names(i).name, false, i);
    const Result<TensorInfo> info = meta.output_tensor_meta(i);
    output.is_tensor = info.ok();
    if (!info.ok()) continue;
    output.info = *info;
    output.is_direct = !info->is_memory_planned && info->dynamism == ShapeDynamism::kStatic && info->device.is_cpu() &&
                       same_dim_order({}, info->dim_order, info->sizes.size());
  }
}

std::string MethodObject::where(const char* what, const std::string& port) const {
  return "method " + name_ + ": " + what + " " + port;
}

size_t MethodObject::find_input(const std::string& name) const {
  std::string names;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].is_tensor && inputs_[i].name == name) return i;
    if (inputs_[i].is_tensor) names += (names.empty() ? "" : ", ") + inputs_[i].name;
  }
  raise(Error::kInvalidType, "method " + name_, "has no input " + name + "; there are: " + names);
}

// The caller's arrays, one for each input: empty for those that are bound or no tensors.
std::vector<Borrowed> MethodObject::gather(const nb::args& args, const nb::kwargs& kwargs) const {
  std::vector<nb::handle> given(inputs_.size());
  size_t next = 0;
  for (const nb::handle arg : args) {
    while (next < inputs_.size() && (!inputs_[next].is_tensor || inputs_[next].is_bound)) ++next;
    if (next == inputs_.size()) {
      raise(Error::kInvalidType, "method " + name_,
            "was given " + std::to_string(args.size()) + " arrays, more than it has inputs that are not bound");
    }
    given[next++] = arg;
  }
  for (const auto& [key, value] : kwargs) {
    const size_t index = find_input(nb::cast<std::string>(key));
    if (given[index].is_valid()) raise(Error::kInvalidType, where("input", inputs_[index].name), "is given twice");
    given[index] = value;
  }
  std::vector<Borrowed> arrays(inputs_.size());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Input& input = inputs_[i];
    if (!input.is_tensor || (input.is_bound && !given[i].is_valid())) continue;
    const std::string place = where("input", input.name);
    if (!given[i].is_valid()) raise(Error::kInvalidType, place, "is not given");
    arrays[i] = Borrowed::take(given[i], input.info.dtype, place);
  }
  return arrays;
}

// Where the elements are as the method wants them: packed in its order, aligned, on its device.
const void* MethodObject::place(Input& input, const Borrowed& array, const std::string& where) {
  const Span<const uint8_t> order = input.info.dim_order;
  const size_t element = element_size(input.info.dtype);
  const Device device = input.info.device;
  const size_t bytes = array.nbytes();
  const bool packed = array.is_packed(order);
  if (!array.device().is_cpu()) {
    if (array.device() != device) {
      raise(Error::kNotSupported, where, "is " + array.text() + ", and the program has it on " + to_text(device).text);
    }
    if (!packed) raise(Error::kInvalidArgument, where, "is not contiguous; on a device it has to be");
    return array.data();
  }
  // An input in the caller's memory may be written by the method.
  const bool in_place = !input.info.is_memory_planned && device.is_cpu();
  const bool aligned = reinterpret_cast<uintptr_t>(array.data()) % element == 0;
  const uint8_t* data = array.data();
  if (!packed || (in_place && (!array.writable() || !aligned))) {
    if (input.packed.bytes().size() < bytes) {
      Result<HostBuffer> made = HostBuffer::make(input.info.nbytes);
      if (!made.ok()) raise(made.error(), where, std::to_string(input.info.nbytes) + " bytes cannot be allocated");
      input.packed = std::move(*made);
    }
    array.copy_to(input.packed.bytes().data(), order);
    data = input.packed.bytes().data();
  }
  if (device.is_cpu() || bytes == 0) return data;
  const DeviceAllocatorRegistry& registry = program_->program().registry();
  Error error = Error::kOk;
  if (input.there.size() < bytes) {
    auto made = DeviceMemoryBuffer::create(input.info.nbytes, device, DeviceAllocator::kDefaultAlignment, registry);
    if (!made.ok()) raise(made.error(), where, std::string("no memory for it on ") + to_text(device).text);
    input.there = std::move(*made);
  }
  error = registry.get_allocator(device.type)->copy_host_to_device(input.there.data(), data, bytes, device.index);
  if (error != Error::kOk) raise(error, where, std::string("cannot be copied to ") + to_text(device).text);
  return input.there.data();
}

void MethodObject::feed(size_t index, Borrowed& array) {
  Input& input = inputs_[index];
  Method& method = method_->method();
  const std::string place_text = where("input", input.name);
  const TensorInfo& info = input.info;
  if (array.dtype() != info.dtype || array.rank() != static_cast<int>(info.sizes.size())) {
    raise(array.dtype() != info.dtype ? Error::kInvalidType : Error::kInvalidArgument, place_text,
          "takes " + type_text(info.dtype, wide(info.sizes)) + ", was given " + array.text());
  }
  int32_t sizes[kMaxRank];
  for (int d = 0; d < array.rank(); ++d) sizes[d] = static_cast<int32_t>(std::min<int64_t>(array.size(d), INT32_MAX));
  if (array.nbytes() > info.nbytes) {
    raise(Error::kInvalidArgument, place_text,
          "takes " + type_text(info.dtype, wide(info.sizes)) +
              (info.dynamism == ShapeDynamism::kStatic ? "" : " at most") + ", was given " + array.text());
  }
  const void* data = place(input, array, place_text);
  static const uint8_t kNothing[64] = {};
  if (data == nullptr) data = kNothing;
  const Error error =
      method.set_input(index, data, {sizes, static_cast<size_t>(array.rank())}, info.dtype, info.device);
  if (error == Error::kOk) return;
  raise(error, place_text, std::string(method.last_report().message) + "; was given " + array.text());
}

// Memory for results that the method writes straight to.
void MethodObject::set_outputs(std::vector<NewArray>* direct) {
  Method& method = method_->method();
  for (size_t i = 0; i < outputs_.size(); ++i) {
    Output& output = outputs_[i];
    direct->emplace_back();
    if (!output.is_direct) continue;
    uint8_t* data = nullptr;
    if (output.is_bound) {
      data = output.bound.is_packed({}) ? output.bound.data() : nullptr;
    } else {
      direct->back() = NewArray(output.info.dtype, wide(output.info.sizes));
      data = direct->back().data();
    }
    if (data == nullptr) continue;
    const Error error = method.set_output_data_ptr(i, data, output.info.nbytes);
    if (error == Error::kOk) continue;
    // Of an input that is given back, or in a place that the method does not take: copied after the run.
    direct->back() = NewArray();
    output.is_direct = error != Error::kInvalidState && output.is_direct;
  }
}

// Without the interpreter's lock.
void MethodObject::run(std::vector<Borrowed>& arrays) {
  Method& method = method_->method();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].is_tensor) {
      feed(i, arrays[i].data() == nullptr && inputs_[i].is_bound ? inputs_[i].bound : arrays[i]);
    } else if (method.set_input(i, method.get_input(i)) != Error::kOk) {
      raise(method.last_report().code, where("input", inputs_[i].name), method.last_report().message);
    }
  }
  const Error error = method.execute();
  if (error != Error::kOk) raise(error, method.last_report(), "method " + name_);
}

nb::object MethodObject::call(nb::handle self, const nb::args& args, const nb::kwargs& kwargs,
                              InstructionObserver* observer) {
  std::vector<Borrowed> arrays = gather(args, kwargs);
  const Turn turn(in_use_, "method " + name_);
  if (arenas_ != nullptr) arenas_->set_has_run();
  std::vector<NewArray> direct;
  set_outputs(&direct);
  Method& method = method_->method();
  {
    const nb::gil_scoped_release unlocked;
    method.set_observer(observer);
    try {
      run(arrays);
    } catch (...) {
      method.set_observer(nullptr);
      throw;
    }
    method.set_observer(nullptr);
  }
  // The method still points to what it was given in place.
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].is_tensor && !inputs_[i].info.is_memory_planned) inputs_[i].given = std::move(arrays[i]);
  }
  nb::object results = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(outputs_.size())));
  if (!results.is_valid()) nb::raise_python_error();
  for (size_t i = 0; i < outputs_.size(); ++i) {
    PyTuple_SetItem(results.ptr(), static_cast<Py_ssize_t>(i), result(self, i, &direct[i]).release().ptr());
  }
  return results;
}

nb::object MethodObject::record(nb::handle self, const nb::args& args, const nb::kwargs& kwargs) {
  Recorder recorder;
  const nb::object results = call(self, args, kwargs, &recorder);
  return nb::make_tuple(results, recorder.events());
}

nb::object MethodObject::result(nb::handle self, size_t index, NewArray* direct) {
  const EValue value = method_->method().get_output(index);
  switch (value.tag()) {
    case Tag::kTensor: return tensor_result(self, outputs_[index], value.tensor(), direct);
    case Tag::kInt: return nb::cast(value.to_int());
    case Tag::kDouble: return nb::cast(value.to_double());
    case Tag::kBool: return nb::cast(value.to_bool());
    case Tag::kNone: return nb::none();
    case Tag::kString: {
      const auto text = value.to_string();
      return nb::steal(PyUnicode_DecodeUTF8(text.data, static_cast<Py_ssize_t>(text.size), "replace"));
    }
    default:
      raise(Error::kNotSupported, where("output", outputs_[index].name),
            std::string("is a ") + tool::tag_name(value.tag()) + ", for which there is no form in Python yet");
  }
}

nb::object MethodObject::tensor_result(nb::handle self, Output& output, const Tensor& tensor, NewArray* direct) {
  if (output.is_bound) {
    copy_to_bound(output, tensor);
    return nb::none();
  }
  if (direct->data() != nullptr && direct->data() == tensor.raw()) return direct->take();
  const std::vector<int64_t> sizes = wide(tensor.sizes());
  if (!copy_ && tensor.device().is_cpu()) {
    return view_array(tensor.raw(), tensor.dtype(), sizes, tensor.strides(), self);
  }
  NewArray array(tensor.dtype(), sizes);
  if (tensor.nbytes() < kLargeCopy) {
    copy_out(tensor, array.data());
  } else {
    const nb::gil_scoped_release unlocked;
    copy_out(tensor, array.data());
  }
  return array.take();
}

// To row-major memory on the host.
void MethodObject::copy_out(const Tensor& tensor, uint8_t* to) const {
  const size_t bytes = tensor.nbytes();
  if (bytes == 0) return;
  const void* data = tensor.raw();
  HostBuffer here;
  if (!tensor.device().is_cpu()) {
    void* target = to;
    if (!tensor.is_contiguous()) {
      Result<HostBuffer> made = HostBuffer::make(bytes);
      if (!made.ok()) raise(made.error(), "method " + name_, "no memory for a result");
      here = std::move(*made);
      target = here.bytes().data();
    }
    DeviceAllocator* allocator = program_->program().registry().get_allocator(tensor.device().type);
    const Error error = allocator == nullptr
                            ? Error::kNotFound
                            : allocator->copy_device_to_host(target, data, bytes, tensor.device().index);
    if (error != Error::kOk) raise(error, "method " + name_, "a result cannot be copied from its device");
    if (tensor.is_contiguous()) return;
    data = target;
  }
  if (tensor.is_contiguous()) {
    std::memcpy(to, data, bytes);
  } else {
    copy_to_dim_order(data, tensor.dim_order(), to, {}, tensor.sizes(), element_size(tensor.dtype()));
  }
}

void MethodObject::copy_to_bound(Output& output, const Tensor& tensor) {
  Borrowed& bound = output.bound;
  if (tensor.raw() == bound.data() && tensor.nbytes() > 0) return;
  const std::vector<int64_t> sizes = wide(tensor.sizes());
  if (!std::equal(sizes.begin(), sizes.end(), bound.sizes().begin(), bound.sizes().end())) {
    raise(Error::kInvalidArgument, where("output", output.name),
          "is " + type_text(tensor.dtype(), sizes) + " in this run, and the array bound to it " + bound.text());
  }
  if (bound.is_packed({})) {
    copy_out(tensor, bound.data());
    return;
  }
  std::vector<uint8_t> packed(tensor.nbytes());
  copy_out(tensor, packed.data());
  bound.copy_from(packed.data());
}

void MethodObject::bind(const nb::dict& inputs, const nb::dict& outputs) {
  const Turn turn(in_use_, "method " + name_);
  for (const auto& [key, value] : inputs) {
    Input& input = inputs_[find_input(nb::cast<std::string>(key))];
    const std::string place = where("input", input.name);
    Borrowed array;
    if (!value.is_none()) array = Borrowed::take(value, input.info.dtype, place);
    if (!value.is_none() && array.dtype() != input.info.dtype) {
      raise(Error::kInvalidType, place,
            "takes " + type_text(input.info.dtype, wide(input.info.sizes)) + ", was given " + array.text());
    }
    // What the method used in place until now must outlive its last use.
    input.given = std::move(input.bound);
    input.bound = std::move(array);
    input.is_bound = !value.is_none();
  }
  for (const auto& [key, value] : outputs) {
    const std::string name = nb::cast<std::string>(key);
    const auto found =
        std::find_if(outputs_.begin(), outputs_.end(), [&](const Output& output) { return output.name == name; });
    if (found == outputs_.end() || !found->is_tensor) {
      raise(Error::kInvalidType, "method " + name_, "has no output " + name + " that is a tensor");
    }
    Output& output = *found;
    Borrowed array;
    const TensorInfo& info = output.info;
    if (!value.is_none()) {
      array = Borrowed::take_writable(value, where("output", name));
      const std::vector<int64_t> sizes = wide(info.sizes);
      const bool same = info.dynamism != ShapeDynamism::kStatic ||
                        std::equal(sizes.begin(), sizes.end(), array.sizes().begin(), array.sizes().end());
      if (array.dtype() != info.dtype || !same || !array.device().is_cpu()) {
        raise(array.dtype() != info.dtype ? Error::kInvalidType : Error::kInvalidArgument, where("output", name),
              "is " + type_text(info.dtype, sizes) + " on the host, was given " + array.text());
      }
    }
    output.bound = std::move(array);
    output.is_bound = !value.is_none();
  }
}

nb::object MethodObject::ports(const char* list) const {
  const format::ProgramView view = program_->program().view();
  return from_json(tool::method_json(view, view.find_method(name_.c_str()))[list].text());
}

nb::dict MethodObject::memory() const {
  nb::dict memory;
  memory["arena_bytes"] = method_->memory().arena_bytes;
  memory["method_bytes"] = method_->memory().method_bytes;
  memory["temp_bytes"] = method_->memory().temp_bytes;
  return memory;
}

namespace {

std::unique_ptr<MethodObject> load_method(std::shared_ptr<LoadedProgram> program, const std::string& name, int threads,
                                          bool copy, bool resident, std::shared_ptr<Arenas> arenas) {
  const nb::gil_scoped_release unlocked;
  return MethodObject::load(std::move(program), std::move(arenas), {name, threads, copy, resident});
}

}  // namespace

void add_method(nb::module_& module) {
  nb::class_<MethodObject>(module, "Method", kMethodText)
      .def("__call__",
           [](nb::handle self, const nb::args& args, const nb::kwargs& kwargs) {
             return nb::inst_ptr<MethodObject>(self)->call(self, args, kwargs);
           })
      .def("_record",
           [](nb::handle self, const nb::args& args, const nb::kwargs& kwargs) {
             return nb::inst_ptr<MethodObject>(self)->record(self, args, kwargs);
           })
      .def("_bind", &MethodObject::bind)
      .def("_planned_bytes", &MethodObject::planned_bytes)
      .def("get_state", &MethodObject::get_state,
           "Its states, such as a language model's caches: a dict of new arrays by name.")
      .def("_set_state", &MethodObject::set_state)
      .def_prop_ro("states", &MethodObject::states,
                   "Its states, which keep their values from one call to the next: dicts with \"name\", \"dtype\", "
                   "\"shape\", \"device\".")
      .def_prop_ro(
          "inputs", [](const MethodObject& method) { return method.ports("inputs"); },
          "Its inputs: dicts with \"name\", \"dtype\", \"shape\", \"device\", and \"dynamic\" where a size may differ.")
      .def_prop_ro(
          "outputs", [](const MethodObject& method) { return method.ports("outputs"); }, "The same of its outputs.")
      .def_prop_ro("name", &MethodObject::name, "Its name in the program.")
      .def_prop_ro("threads", &MethodObject::threads, "The number of threads that run it, the calling one included.")
      .def_prop_ro("memory", &MethodObject::memory, "Bytes of its arenas, its own memory, and its kernels' scratch.");
  module.def("load_method", &load_method, nb::arg("program"), nb::arg("name"), nb::arg("threads"), nb::arg("copy"),
             nb::arg("resident"), nb::arg("arenas").none());
}

}  // namespace berth::python
