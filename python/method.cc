#include "python/method.h"

#include <nanobind/stl/unique_ptr.h>

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

constexpr char kMethodText[] =
    R"(A method, loaded and ready to be called with arrays: in order, or by the names of its inputs.

Arrays are what has the buffer protocol or DLPack (NumPy, torch, CuPy), and numbers and lists of them. Element type and
number of dimensions have to be those of the input; any strides will do, and those that the method has itself are not
copied twice. Returns a tuple: NumPy arrays in memory of their own, a berth.Tensor for an element type that NumPy does
not have, a number for an output that is one, and None for an output that is bound.

Any thread may call it; others wait meanwhile. The interpreter's lock is released while it runs.)";

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
