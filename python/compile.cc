// Options by their names, and the work without the interpreter's lock.
#include "python/compile.h"

#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>

#include <exception>
#include <functional>
#include <utility>

#include "base/stopwatch.h"
#include "compiler/compile.h"
#include "compiler/targets/plugin_operators.h"
#include "python/casters.h"
#include "python/errors.h"
#include "python/plugins.h"
#include "python/program.h"
#include "tools/auto_targets.h"
#include "tools/progress_bar.h"
#include "tools/reports.h"
#include "tools/subcommand.h"

namespace nb = nanobind;

namespace berth::python {
namespace {

using Strings = std::vector<std::string>;

Planner planner_of(const std::string& name) {
  if (name == "naive") return Planner::kNaive;
  if (name == "greedy") return Planner::kGreedy;
  if (name == "best") return Planner::kBest;
  raise(Error::kInvalidArgument, "planner '" + name + "'", "expected naive, greedy or best");
}

// Sets a member of a structure from an object of Python's.
template <typename Structure>
using Setters = std::map<std::string, std::function<void(Structure&, nb::handle)>>;

template <typename T, typename Structure, typename Member>
std::function<void(Structure&, nb::handle)> to(Member Structure::*member) {
  return [member](Structure& structure, nb::handle value) { structure.*member = nb::cast<T>(value); };
}

// A function of Python's (method, node, operator) -> "cuda:0" or None, called without the interpreter's lock.
auto node_device_of(nb::handle function) {
  auto held = std::shared_ptr<nb::object>(new nb::object(nb::borrow(function)), [](nb::object* object) {
    const nb::gil_scoped_acquire lock;
    delete object;
  });
  return [held](const ir::Method& method, const ir::Node& node) -> std::optional<Device> {
    const nb::gil_scoped_acquire lock;
    const nb::object answer = (*held)(method.name, node.source, node.op->functional_name);
    if (answer.is_none()) return std::nullopt;
    const std::string text = nb::cast<std::string>(answer);
    const Result<Device> device = parse_device(text.data(), text.size());
    if (!device.ok()) raise(Error::kInvalidArgument, "node_device", "gave '" + text + "', which is not a device");
    return *device;
  };
}

// What the options of all methods and the settings of one have.
template <typename O>
Setters<O> shared_setters() {
  return {
      {"target", to<std::string>(&O::target)},
      {"split", to<bool>(&O::split)},
      {"by_cost", to<bool>(&O::by_cost)},
      {"banks", to<Strings>(&O::banks)},
      {"planner", [](O& options, nb::handle value) { options.planner = planner_of(nb::cast<std::string>(value)); }},
      {"alignment", to<int64_t>(&O::alignment)},
      {"in_place", to<bool>(&O::in_place)},
      {"in_place_operators", to<Strings>(&O::in_place_operators)},
      {"alias", to<bool>(&O::alias)},
      {"reorder", to<bool>(&O::reorder)},
      {"overlap", to<std::string>(&O::overlap)},
      {"place", to<Strings>(&O::place)},
      {"device_io", to<Strings>(&O::device_io)},
      {"pins", to<Strings>(&O::pins)},
      {"states", to<Strings>(&O::states)},
  };
}

const Setters<CompileOptions>& option_setters() {
  using O = CompileOptions;
  static const auto* const setters = [] {
    auto* const all = new Setters<O>(shared_setters<O>());
    all->insert({
        {"cpu", to<std::string>(&O::cpu)},
        {"precision", to<std::string>(&O::precision)},
        {"activations", to<std::string>(&O::activations)},
        {"node_device", [](O& options, nb::handle value) { options.node_device = node_device_of(value); }},
        {"specs", to<Strings>(&O::specs)},
        {"fusion", to<bool>(&O::fusion)},
        {"external_constants", to<Strings>(&O::external_constants)},
        {"constant_alignment", to<uint32_t>(&O::constant_alignment)},
        {"segment_alignment", to<uint32_t>(&O::segment_alignment)},
        {"time_limit", to<double>(&O::time_limit)},
        {"dump_ir", to<std::string>(&O::dump_ir)},
        {"why", to<Strings>(&O::why)},
        {"stack_traces", to<bool>(&O::stack_traces)},
        {"verify_ir", to<bool>(&O::verify_ir)},
    });
    return all;
  }();
  return *setters;
}

const Setters<MethodSettings>& method_setters() {
  static const auto* const setters = new Setters<MethodSettings>(shared_setters<MethodSettings>());
  return *setters;
}

template <typename Structure>
void set_all(const Setters<Structure>& setters, const nb::dict& values, const std::string& what, Structure* structure) {
  for (const auto& [key, value] : values) {
    const std::string name = nb::cast<std::string>(key);
    const auto setter = setters.find(name);
    if (setter == setters.end()) raise(Error::kInvalidType, what, "there is no option " + name);
    try {
      setter->second(*structure, value);
    } catch (const nb::cast_error&) {
      raise(Error::kInvalidType, "option " + name,
            "cannot be " + nb::cast<std::string>(nb::repr(value)) + " of type " + Py_TYPE(value.ptr())->tp_name);
    }
  }
}

/// Follows a compilation: Ctrl-C, a function of Python's, and a bar on a terminal. Called without the interpreter's
/// lock.
class Follower {
 public:
  /// `function`: (step, done) -> whether to go on, where only False means no; None: there is none.
  Follower(nb::handle function, bool with_bar)
      : function_(function), with_bar_(with_bar && tool::ProgressBar::is_wanted()) {}

  bool go_on(const std::string& step, double done) {
    if (with_bar_) bar_.show(step, done);
    const nb::gil_scoped_acquire lock;
    try {
      if (PyErr_CheckSignals() != 0) nb::raise_python_error();
      if (function_.is_none()) return true;
      return function_(step, done).ptr() != Py_False;
    } catch (const nb::python_error&) {
      error_ = std::current_exception();
      return false;
    }
  }

  bool failed() const { return error_ != nullptr; }
  /// REQUIRES: the interpreter's lock.
  void raise_if_failed() const {
    if (failed()) std::rethrow_exception(error_);
  }

 private:
  nb::handle function_;
  bool with_bar_;
  tool::ProgressBar bar_;
  std::exception_ptr error_;
};

struct Work {
  std::vector<ModelFile> models;
  ImportOptions import;
  ir::MergeOptions merging;
  CompileOptions options;
  std::string costs;  // a file, or as tool::add_costs() takes it
  LoadRequest load;
};

// Without the interpreter's lock.
std::unique_ptr<LoadedProgram> compile_work(Work& work, const std::string& output, CompileReport* report) {
  work.options.plugins = work.load.plugins;
  work.import.operators = value_or_raise(plugin_operators(work.options.plugins));
  check(tool::add_costs(work.costs, work.options.plugins, &work.options));
  const Stopwatch watch;
  ir::Module module = value_or_raise(load_models(work.models, work.import, work.merging));
  if (output.empty()) {
    std::vector<uint8_t> bytes = value_or_raise(compile(std::move(module), work.options, report));
    report->total_ms = watch.milliseconds();
    return LoadedProgram::adopt(std::move(bytes), work.load, "program bytes");
  }
  check(compile_to_file(std::move(module), work.options, output, report));
  report->total_ms = watch.milliseconds();
  for (const ExternalReport& file : report->external) work.load.data.push_back(file.file);
  return LoadedProgram::open(output, work.load);
}

nb::tuple compile_models(const std::vector<std::pair<std::string, std::string>>& models, const nb::dict& importing,
                         const nb::dict& options, const nb::dict& methods, nb::handle plugins,
                         const std::string& output, nb::handle progress, bool with_bar) {
  Work work;
  for (const auto& [path, method] : models) work.models.push_back({path, method});
  for (const auto& [key, value] : importing) {
    const std::string name = nb::cast<std::string>(key);
    if (name == "input_shapes") {
      work.import.input_shapes = nb::cast<std::vector<std::pair<std::string, std::string>>>(value);
    }
    if (name == "where") work.import.where = nb::cast<Strings>(value);
    if (name == "data") work.import.data_files = nb::cast<Strings>(value);
    if (name == "costs") work.costs = nb::cast<std::string>(value);
    if (name == "share_state") work.merging.share_state = nb::cast<bool>(value);
  }
  set_all(option_setters(), options, "compile", &work.options);
  for (const auto& [name, settings] : methods) {
    const std::string method = nb::cast<std::string>(name);
    set_all(method_setters(), nb::cast<nb::dict>(settings), "method " + method, &work.options.methods[method]);
  }
  work.load.plugins = plugins_of(plugins);
  CompileReport report;
  std::unique_ptr<LoadedProgram> program;
  {
    Follower follower(progress, with_bar);
    work.options.progress = [&](const std::string& step, double done) { return follower.go_on(step, done); };
    try {
      const nb::gil_scoped_release unlocked;
      program = compile_work(work, output, &report);
    } catch (const Raised&) {
      if (!follower.failed()) throw;
    }
    follower.raise_if_failed();
  }
  Json json = tool::compile_json(report);
  json.erase("peak_rss_kb");
  json["why"] = report.why;
  return nb::make_tuple(std::move(program), from_json(json.text()));
}

// A subcommand of the tool with its --json, and the program that it makes, if any.
nb::tuple subcommand(const std::string& name, const Strings& options, const std::string& file, nb::handle plugins) {
  tool::SubcommandResult result;
  const std::vector<const Plugin*> known = plugins_of(plugins);
  {
    const nb::gil_scoped_release unlocked;
    result = value_or_raise(tool::run_subcommand(name, options, {file}, known));
  }
  return nb::make_tuple(from_json(result.text),
                        nb::bytes(reinterpret_cast<const char*>(result.program.data()), result.program.size()));
}

}  // namespace

void add_compile(nb::module_& module) {
  module.def("compile_models", &compile_models, nb::arg("models"), nb::arg("importing"), nb::arg("options"),
             nb::arg("methods"), nb::arg("plugins"), nb::arg("output"), nb::arg("progress").none(),
             nb::arg("with_bar"));

  module.def("subcommand", &subcommand);

  module.def("model_extensions", [] { return model_extensions(", "); });
}

}  // namespace berth::python
