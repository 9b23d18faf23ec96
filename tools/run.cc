// berth run: runs a program on NumPy files.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>

#include "base/output_file.h"
#include "tools/arrays.h"
#include "tools/load_method.h"
#include "tools/method_inputs.h"
#include "tools/names.h"
#include "tools/tool.h"

namespace berth::tool {
namespace {

struct RunOptions {
  LoadRequest load;
  std::string output_dir;
  std::vector<std::string> then;  // further calls: "METHOD=X.npy,Y.npy"
  std::string verify = "full";
  std::string source = "map";
  int top = 0;
};

void print_top(const Array& array, int count) {
  std::vector<size_t> order(array.bytes.size() / element_size(array.dtype));
  std::iota(order.begin(), order.end(), size_t{0});
  const size_t shown = std::min<size_t>(order.size(), count);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](size_t a, size_t b) {
                      const double x = number_at(array, a);
                      const double y = number_at(array, b);
                      return x > y || (std::isnan(y) && !std::isnan(x));  // NaN last
                    });
  for (size_t i = 0; i < shown; ++i) fmt::print("  {:6} {:.6g}\n", order[i], number_at(array, order[i]));
}

void print_output(size_t index, const std::string& name, const Array& array) {
  std::string shape;
  for (int64_t size : array.shape) shape += (shape.empty() ? "" : "x") + std::to_string(size);
  fmt::print("out{} {}: {}[{}]", index, name, to_string(array.dtype), shape);
  const size_t count = array.bytes.size() / element_size(array.dtype);
  for (size_t k = 0; k < std::min<size_t>(count, 4); ++k) fmt::print(" {:.6g}", number_at(array, k));
  fmt::print("{}\n", count > 4 ? " …" : "");
}

// `prefix` distinguishes the files of several calls.
Status give_outputs(const RunOptions& options, LoadedMethod& loaded, const std::string& prefix) {
  Method& method = loaded.method->method();
  if (!options.output_dir.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.output_dir, error);
    if (error) return Failure{Error::kAccessFailed, options.output_dir, "cannot be created: " + error.message()};
  }
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    const EValue value = method.get_output(i);
    const std::string name = port_name(method.meta().output_names(i).name, false, i);
    if (!value.is_tensor() && !value.is_scalar()) {
      fmt::print("out{} {}: {}\n", i, name, tag_name(value.tag()));
      continue;
    }
    Array array;
    if (value.is_tensor()) {
      BERTH_ASSIGN_OR_RETURN(array, array_of(value.tensor(), loaded.machine.registry(), "output " + std::to_string(i)));
    } else {
      array = array_of_scalar(value);
    }
    print_output(i, name, array);
    if (options.top > 0) print_top(array, options.top);
    if (!options.output_dir.empty()) {
      const std::string path = options.output_dir + "/" + prefix + "out" + std::to_string(i) + ".npy";
      BERTH_TRY(keep_files(files_read(options.load, loaded), path, path));
      BERTH_TRY(write_npy(path, array));
    }
  }
  return Done{};
}

// What arenas that follow the sizes took in this run.
void print_arenas(Method& method) {
  if (!method.follows_sizes()) return;
  uint64_t taken = 0;
  uint64_t most = 0;
  for (size_t i = 0; i < method.meta().num_memory_planned_buffers(); ++i) {
    taken += method.planned_bytes(i).ok() ? *method.planned_bytes(i) : 0;
    most += method.meta().memory_planned_buffer_size(i).ok() ? *method.meta().memory_planned_buffer_size(i) : 0;
  }
  fmt::print("arenas: {} at these sizes, {} at most\n", bytes_text(static_cast<int64_t>(taken)),
             bytes_text(static_cast<int64_t>(most)));
}

Status call(const RunOptions& options, LoadedMethod& loaded, const std::string& prefix) {
  Method& method = loaded.method->method();
  BERTH_ASSIGN_OR_RETURN(std::vector<Array> inputs, gather_inputs(options.load, method));
  BERTH_TRY(set_inputs(loaded, inputs));
  if (method.execute() != Error::kOk) return failure_of(options.load, method);
  print_arenas(method);
  return give_outputs(options, loaded, prefix);
}

// Parses "METHOD=X.npy,Y.npy".
std::pair<std::string, std::vector<std::string>> further_call(const std::string& text) {
  const size_t equals = text.find('=');
  std::vector<std::string> inputs;
  for (size_t at = equals; at != std::string::npos && at + 1 < text.size();) {
    const size_t comma = text.find(',', at + 1);
    inputs.push_back(text.substr(at + 1, comma == std::string::npos ? comma : comma - at - 1));
    at = comma;
  }
  return {text.substr(0, equals), inputs};
}

Status run_run(RunOptions& options) {
  options.load.full_verification = options.verify == "full";
  options.load.map = options.source == "map";
  for (const std::string& text : options.then) options.load.more_methods.push_back(further_call(text).first);
  BERTH_ASSIGN_OR_RETURN(const auto loaded, load_method(options.load));
  BERTH_TRY(call(options, *loaded, ""));
  for (size_t i = 0; i < options.then.size(); ++i) {
    const auto [name, inputs] = further_call(options.then[i]);
    const auto other = loaded->others.find(name);
    options.load.inputs = inputs;
    if (other != loaded->others.end()) std::swap(loaded->method, other->second);
    fmt::print("then {}\n", loaded->method->method().meta().name());
    Status done = call(options, *loaded, "c" + std::to_string(i + 1) + "_");
    if (other != loaded->others.end()) std::swap(loaded->method, other->second);
    if (!done.ok()) return done.error();
  }
  if (const uint64_t messages = loaded->machine.validation_messages(); messages > 0) {
    return Failure{Error::kInternal, options.load.program,
                   "the validation layers have " + counted(messages, "message") + ", above"};
  }
  return Done{};
}

}  // namespace

void add_run(CLI::App& app, Session& session) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Run a program on NumPy files");
  command->add_option("PROGRAM", options->load.program, "a .pte program")->required();
  command->add_option("--method", options->load.method, "the method to run; default: forward, or the only one");
  command
      ->add_option("--input", options->load.inputs, "X.npy in order, or NAME=X.npy; default: random with a fixed seed")
      ->allow_extra_args(false);
  command
      ->add_option(
          "--then", options->then,
          "METHOD=X.npy,Y.npy: then call this method, on the same memory, so that state is kept. Its outputs are "
          "c1_out0.npy…, those of the next c2_out0.npy…")
      ->allow_extra_args(false);
  command->add_option("--output-dir", options->output_dir, "write out0.npy, out1.npy… to this folder");
  command->add_option("--threads", options->load.threads, "the number of threads, including the calling one")
      ->check(CLI::Range(1, HostThreadPool::kMaxThreads));
  command->add_option("--top", options->top, "print the N largest elements of each output")->check(not_negative());
  command->add_option("--verify", options->verify, "minimal or full: how much of the file to check before it runs")
      ->check(CLI::IsMember({"minimal", "full"}));
  add_load_options(*command, options->load);
  command->add_option("--load", options->source, "map or read the file")->check(CLI::IsMember({"map", "read"}));
  command->footer("example: berth run model.pte --input x.npy --output-dir out");
  command->callback([options, &session] {
    auto done = run_run(*options);
    if (!done.ok()) session.exit_code = report(done.error());
  });
}

}  // namespace berth::tool
