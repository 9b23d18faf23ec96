// berth bench: times the load and the runs of a program.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/output_file.h"
#include "runtime/host/chrome_trace.h"
#include "tools/etdump.h"
#include "tools/load_method.h"
#include "tools/method_inputs.h"
#include "tools/names.h"
#include "tools/profile.h"
#include "tools/program_file.h"
#include "tools/tool.h"

namespace berth::tool {
namespace {

struct BenchOptions {
  LoadRequest load;
  int iterations = 50;
  bool json = false;
  bool profile = false;
  bool processor_time = false;
  std::string trace;   // a file for the trace of one run
  std::string etdump;  // a file for the record of all
};

/// Keeps what it is told while it is on: not of the runs that are timed.
class Tracer final : public EventObserver {
 public:
  void event(const Event& event) override {
    if (!on_) return;
    if (start_ == 0) start_ = event.nanoseconds;
    trace_.event(event);
  }
  void turn(bool on) { on_ = on; }

  /// What it was told, with the instructions of `profiler`.
  std::string json(const Profiler& profiler) const {
    std::string all = trace_.json();
    std::string more;
    const Json instructions = profiler.trace(start_);
    for (const Json& event : instructions["traceEvents"]) more += event.text() + ",";
    const size_t first = all.find('[') + 1;  // of its list of events
    if (all[first] == ']' && !more.empty()) more.pop_back();
    return all.insert(first, more);
  }

 private:
  bool on_ = true;
  uint64_t start_ = 0;
  ChromeTrace trace_;
};

struct Timing {
  double first = 0;
  std::vector<double> others;  // sorted, seconds

  double at(double fraction) const {
    return others.empty() ? first : others[std::lround(fraction * static_cast<double>(others.size() - 1))];
  }
};

// Of the clock that times the runs: the processor time of all threads does not count what others do on their cores.
double seconds_now(const BenchOptions& options) {
  timespec now = {};
  clock_gettime(options.processor_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Sets the inputs before each run, like an application.
Status time_runs(const BenchOptions& options, LoadedMethod& loaded, std::vector<Array>& inputs, Timing* timing) {
  Method& method = loaded.method->method();
  for (int i = 0; i <= options.iterations; ++i) {
    const double start = seconds_now(options);
    BERTH_TRY(set_inputs(loaded, inputs));
    if (method.execute() != Error::kOk) return failure_of(options.load, method);
    const double seconds = seconds_now(options) - start;
    if (i == 0) {
      timing->first = seconds;
    } else {
      timing->others.push_back(seconds);
    }
  }
  std::sort(timing->others.begin(), timing->others.end());
  return Done{};
}

// Of each device; `at_hand`: at the sizes of the runs so far, where arenas follow the sizes.
Json planned_bytes(Method& method, bool at_hand) {
  const MethodMeta meta = method.meta();
  Json planned = Json::object();
  for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    const auto bytes = at_hand ? method.planned_bytes(i) : meta.memory_planned_buffer_size(i);
    const auto device = meta.memory_planned_buffer_device(i);
    if (!bytes.ok() || !device.ok()) continue;
    const std::string name = device_name(*device);
    planned[name] = (planned.contains(name) ? planned[name].get<uint64_t>() : 0) + *bytes;
  }
  return planned;
}

// What a run takes of devices.
struct Effort {
  CopyCount copies;  // to, from and between them
  DeviceWork work;
};

Expected<Effort> count_effort(const BenchOptions& options, LoadedMethod& loaded, std::vector<Array>& inputs) {
  BERTH_TRY(set_inputs(loaded, inputs));
  const CopyCount before = loaded.machine.copies();
  const DeviceWork then = loaded.machine.work();
  if (loaded.method->method().execute() != Error::kOk) return failure_of(options.load, loaded.method->method());
  const CopyCount after = loaded.machine.copies();
  const DeviceWork now = loaded.machine.work();
  return Effort{{after.count - before.count, after.bytes - before.bytes},
                {now.submissions - then.submissions, now.dispatches - then.dispatches, now.barriers - then.barriers,
                 now.pipelines - then.pipelines, now.allocations - then.allocations,
                 now.library_calls - then.library_calls, now.fallbacks - then.fallbacks}};
}

// More runs, which are not part of the timing, because profiling takes time too.
Expected<Profiler> profile_runs(const BenchOptions& options, const NodeNames& names, LoadedMethod& loaded,
                                std::vector<Array>& inputs, Tracer& tracer) {
  Method& method = loaded.method->method();
  Profiler profiler(measure_roofline(loaded.pool.get()), &names);
  method.set_observer(&profiler);
  for (int i = 0; i < std::max(1, options.iterations); ++i) {
    tracer.turn(i == 0);
    BERTH_TRY(set_inputs(loaded, inputs));
    const Error error = run_observed(method, i == 0 ? &tracer : nullptr);
    tracer.turn(false);
    if (error != Error::kOk) return failure_of(options.load, method);
    profiler.end_of_run();
  }
  method.set_observer(nullptr);
  if (!options.trace.empty()) {
    BERTH_TRY(keep_files(files_read(options.load, loaded), options.trace, "--trace " + options.trace));
    const std::string text = tracer.json(profiler);
    BERTH_TRY(write_whole_file(options.trace, [&](OutputFile& file) { return file.write(text.data(), text.size()); }));
  }
  return profiler;
}

// More runs again, as recording takes time too.
Status record_runs(const BenchOptions& options, const NodeNames& names, LoadedMethod& loaded,
                   std::vector<Array>& inputs) {
  Method& method = loaded.method->method();
  BERTH_TRY(keep_files(files_read(options.load, loaded), options.etdump, "--etdump " + options.etdump));
  RunRecorder recorder(&names);
  method.set_observer(&recorder);
  for (int i = 0; i < std::max(1, options.iterations); ++i) {
    BERTH_TRY(set_inputs(loaded, inputs));
    recorder.begin_run();
    const Error error = method.execute();
    if (error != Error::kOk) return failure_of(options.load, method);
    recorder.end_run();
  }
  method.set_observer(nullptr);
  const std::vector<uint8_t> bytes = recorder.file();
  return write_whole_file(options.etdump, [&](OutputFile& file) { return file.write(bytes.data(), bytes.size()); });
}

Expected<NodeNames> node_names(const BenchOptions& options, const Method& method) {
  BERTH_ASSIGN_OR_RETURN(const ProgramFile program, open_program(options.load.program));
  const int index = program.view.find_method(method.meta().name());
  return index < 0 ? NodeNames() : NodeNames::of(program.view, index);
}

// An application has its inputs before it loads a model, so they count as resident at the start.
int64_t kilobytes(const std::vector<Array>& inputs) {
  size_t bytes = 0;
  for (const Array& input : inputs) bytes += input.bytes.size();
  return static_cast<int64_t>(bytes / 1024);
}

struct Memory {
  int64_t start_kb = 0;
  int64_t peak_kb = 0;
};

Json bench_json(const BenchOptions& options, const LoadedMethod& loaded, const Timing& timing, const Effort& effort,
                const Memory& resident) {
  Method& method = loaded.method->method();
  Json json = {{"load_ms", loaded.seconds * 1e3},
               {"first_ms", timing.first * 1e3},
               {"median_ms", timing.at(.5) * 1e3},
               {"p90_ms", timing.at(.9) * 1e3},
               {"min_ms", timing.at(0) * 1e3},
               {"iterations", options.iterations},
               {"threads", options.load.threads},
               {"planned_bytes", planned_bytes(method, false)},
               {"planned_bytes_at_sizes", planned_bytes(method, true)},
               {"copies", effort.copies.count},
               {"copied_bytes", effort.copies.bytes},
               {"method_bytes", loaded.method->memory().method_bytes},
               {"temp_bytes", loaded.method->memory().temp_bytes},
               {"start_rss_kb", resident.start_kb},
               {"peak_rss_kb", resident.peak_kb}};
  if (effort.work.submissions > 0) {
    json["device"] = {{"submissions", effort.work.submissions}, {"dispatches", effort.work.dispatches},
                      {"barriers", effort.work.barriers},       {"pipelines", effort.work.pipelines},
                      {"allocations", effort.work.allocations}, {"library_calls", effort.work.library_calls},
                      {"fallbacks", effort.work.fallbacks}};
  }
  return json;
}

void print_times(const BenchOptions& options, const LoadedMethod& loaded, const Timing& timing) {
  fmt::print("load {}, first run {}", duration_text(loaded.seconds), duration_text(timing.first));
  if (!timing.others.empty()) {
    fmt::print("; then of {} on {}: min {}, median {}, 90 % below {}", counted(options.iterations, "run"),
               counted(options.load.threads, "thread"), duration_text(timing.at(0)), duration_text(timing.at(.5)),
               duration_text(timing.at(.9)));
  }
  fmt::print("\n");
}

void print_memory(const LoadedMethod& loaded, const Json& json) {
  for (const auto& [device, bytes] : json["planned_bytes"].items()) {
    fmt::print("memory on {}: {} planned", device, bytes_text(bytes.get<int64_t>()));
    const int64_t used = json["planned_bytes_at_sizes"][device].get<int64_t>();
    if (loaded.method->method().follows_sizes()) fmt::print(" at most, {} at these sizes", bytes_text(used));
    if (device == "cpu") {
      fmt::print(", {} for the method, {} for kernels while they run",
                 bytes_text(static_cast<int64_t>(loaded.method->memory().method_bytes)),
                 bytes_text(static_cast<int64_t>(loaded.method->memory().temp_bytes)));
    }
    fmt::print("\n");
  }
}

void print_effort(const Effort& effort) {
  if (effort.copies.count != 0) {
    fmt::print("copies between devices in a run: {} of {} in all\n", effort.copies.count,
               bytes_text(static_cast<int64_t>(effort.copies.bytes)));
  }
  if (effort.work.fallbacks != 0) {
    fmt::print("products and convolutions in a run: {} by libraries, {} by slower kernels, as no library took them\n",
               effort.work.library_calls, effort.work.fallbacks);
  }
}

Status run_bench(BenchOptions& options) {
  Memory resident;
  resident.start_kb = resident_kb();
  Tracer tracer;
  if (!options.trace.empty()) options.load.events = &tracer;
  BERTH_ASSIGN_OR_RETURN(const auto loaded, load_method(options.load));
  tracer.turn(false);
  Method& method = loaded->method->method();
  method.set_observer(nullptr);
  BERTH_ASSIGN_OR_RETURN(std::vector<Array> inputs, gather_inputs(options.load, method));
  resident.start_kb += kilobytes(inputs);
  Timing timing;
  BERTH_TRY(time_runs(options, *loaded, inputs, &timing));
  resident.peak_kb = peak_rss_kb();  // before this report takes its own
  BERTH_ASSIGN_OR_RETURN(const Effort effort, count_effort(options, *loaded, inputs));
  Json json = bench_json(options, *loaded, timing, effort, resident);
  NodeNames names;
  if (options.profile || !options.trace.empty() || !options.etdump.empty()) {
    BERTH_ASSIGN_OR_RETURN(names, node_names(options, method));
  }
  if (!options.etdump.empty()) BERTH_TRY(record_runs(options, names, *loaded, inputs));
  std::string profile;
  if (options.profile || !options.trace.empty()) {
    BERTH_ASSIGN_OR_RETURN(const Profiler profiler, profile_runs(options, names, *loaded, inputs, tracer));
    json["profile"] = profiler.json();
    profile = "\n" + profiler.text();
  }
  if (options.json) {
    fmt::print("{}\n", json.text());
    return Done{};
  }
  print_times(options, *loaded, timing);
  print_memory(*loaded, json);
  print_effort(effort);
  fmt::print("{}", profile);
  return Done{};
}

}  // namespace

void add_bench(CLI::App& app, Session& session) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand("bench", "Time the load and the runs of a program");
  command->add_option("PROGRAM", options->load.program, "a .pte program")->required();
  command->add_option("--method", options->load.method, "the method to run; default: forward, or the only one");
  command
      ->add_option("--input", options->load.inputs, "X.npy in order, or NAME=X.npy; default: random with a fixed seed")
      ->allow_extra_args(false);
  command->add_option("--iterations", options->iterations, "runs after the first")->check(CLI::Range(0, 10'000'000));
  command->add_option("--threads", options->load.threads, "the number of threads, including the calling one")
      ->check(CLI::Range(1, HostThreadPool::kMaxThreads));
  add_load_options(*command, options->load);
  command->add_flag("--processor-time", options->processor_time,
                    "time the runs by the processor time of all threads, for machines that are busy with other work");
  command->add_flag(
      "--profile", options->profile,
      "in further runs, measure the time, arithmetic and bytes of each operator, relative to this machine's limits");
  command->add_option(
      "--trace", options->trace,
      "write the load and one run to this file for Chrome's trace viewer: instructions, copies, memory");
  command->add_option("--etdump", options->etdump,
                      "write further runs to this file (.etdp) for ExecuTorch's Inspector and berth inspect");
  command->add_flag("--json", options->json, "one JSON object instead of text");
  command->footer("example: berth bench model.pte --threads 2");
  command->callback([options, &session] {
    auto done = run_bench(*options);
    if (!done.ok()) session.exit_code = report(done.error());
  });
}

}  // namespace berth::tool
