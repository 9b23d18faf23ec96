#include "tools/load_method.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backends/cpu/thread_pool.h"
#include "base/output_file.h"
#include "kernels/portable/portable.h"
#include "runtime/log.h"
#include "tools/device_map.h"
#include "tools/memory_limit.h"
#include "tools/plugins.h"
#include "tools/program_file.h"
#include "tools/tool.h"

namespace berth::tool {
namespace {

Failure failure_from(const std::string& path, Error code, const Report& report) {
  if (report.code == Error::kOk) return Failure{code, path, to_string(code)};
  const std::string place = report.place;
  const std::string hint = report.code == Error::kOperatorMissing ? ", here with --plugin" : "";
  if (place.rfind(path, 0) == 0) return Failure{report.code, place, report.message + hint};
  return Failure{report.code, place.empty() ? path : path + ": " + place, report.message + hint};
}

// What failed is said where it failed.
void print_warning(void*, LogLevel level, const char* text) {
  if (level == LogLevel::kWarning) fmt::print(stderr, "berth: {}\n", text);
}

Status keep_pipelines(const LoadRequest& request, Machine& machine) {
  if (request.pipeline_cache.empty()) return Done{};
  BERTH_TRY(keep_files({request.program}, request.pipeline_cache, "--pipeline-cache " + request.pipeline_cache));
  set_log(print_warning, nullptr);
  return machine.keep_pipelines(request.pipeline_cache);
}

Expected<std::unique_ptr<DataLoader>> open_loader(const LoadRequest& request) {
  if (!request.bytes.empty()) return std::unique_ptr<DataLoader>(new BufferLoader(request.bytes));
  Report report;
  const auto failure = [&](Error code) { return failure_from(request.program, code, report); };
  if (request.map) {
    auto loader = MappedFileLoader::open(request.program.c_str(), &report);
    if (!loader.ok()) return failure(loader.error());
    return std::unique_ptr<DataLoader>(new MappedFileLoader(std::move(loader).value()));
  }
  auto loader = FileLoader::open(request.program.c_str(), &report);
  if (!loader.ok()) return failure(loader.error());
  return std::unique_ptr<DataLoader>(new FileLoader(std::move(loader).value()));
}

Expected<std::string> choose_method(const LoadRequest& request, const Program& program) {
  if (!request.method.empty()) return request.method;
  if (program.num_methods() == 1) return std::string(program.method_name(0));
  std::string names;
  for (size_t i = 0; i < program.num_methods(); ++i) {
    if (std::strcmp(program.method_name(i), "forward") == 0) return std::string("forward");
    names += std::string(i == 0 ? "" : ", ") + program.method_name(i);
  }
  return Failure{Error::kInvalidArgument, request.program, "has several methods; choose one with --method: " + names};
}

// For a delegate whose backend is not in this build, suggests another build or another model file.
Status check_backends(const LoadRequest& request, const Machine& machine, const MethodMeta& meta) {
  for (size_t i = 0; i < meta.num_delegates(); ++i) {
    std::string names;
    bool known = false;
    for (const Backend* backend : machine.backends()) {
      known = known || std::strcmp(backend->name(), meta.delegate_id(i)) == 0;
      const std::string name = backend->name();
      if (names.find(name) == std::string::npos) names += (names.empty() ? "" : ", ") + name;
    }
    if (known) continue;
    return Failure{Error::kNotFound, fmt::format("{}: method {}, delegate {}", request.program, meta.name(), i),
                   fmt::format("is for the backend {}, which this berth does not have (it has {}); load it with "
                               "--plugin, export the model without it, or give berth compile the model itself",
                               meta.delegate_id(i), names)};
  }
  return Done{};
}

// Initialises the devices that the program uses. A process does that once, so the seconds that it returns do not count
// as part of the load.
double look_for_devices(const Program& program) {
  const Stopwatch watch;
  for (size_t m = 0; m < program.num_methods(); ++m) {
    const auto meta = program.method_meta(m);
    for (size_t i = 0; meta.ok() && i < meta->num_memory_planned_buffers(); ++i) {
      const auto device = meta->memory_planned_buffer_device(i);
      const DeviceAllocator* allocator = device.ok() ? program.registry().get_allocator(device->type) : nullptr;
      if (allocator != nullptr) static_cast<void>(allocator->device_count());
    }
  }
  return watch.seconds();
}

// REQUIRES: the file is open, and the plug-ins' kernels are there.
Status load_program(const LoadRequest& request, LoadedMethod& loaded) {
  Report report;
  LoadOptions options;
  options.verification = request.full_verification ? Verification::kFull : Verification::kMinimal;
  options.report = &report;
  options.registry = &loaded.machine.registry();
  if (request.events != nullptr) {
    loaded.devices = std::make_unique<ObservedDevices>(loaded.machine.registry(), request.events);
    options.registry = &loaded.devices->registry();
  }
  options.backends = loaded.machine.backends();
  BERTH_ASSIGN_OR_RETURN(const DeviceMappings devices,
                         DeviceMappings::parse(request.devices, loaded.machine.registry()));
  options.devices = devices.mappings();
  options.external = &loaded.data;
  const KernelTable tables[] = {loaded.kernels.table(), portable::kernels()};
  auto program = [&] {
    const EventScope scope(request.events, Event::Kind::kLoad, "", "program");
    return Program::load(*loaded.loader, tables, options);
  }();
  if (!program.ok()) {
    return if_no_program(request.program, failure_from(request.program, program.error(), report));
  }
  loaded.program = std::make_unique<Program>(std::move(program).value());
  return Done{};
}

// `name` and the others that are asked for, each once.
std::vector<std::string> methods_to_load(const LoadRequest& request, const std::string& name) {
  std::vector<std::string> methods = {name};
  for (const std::string& other : request.more_methods) {
    if (!other.empty() && std::find(methods.begin(), methods.end(), other) == methods.end()) methods.push_back(other);
  }
  return methods;
}

// The first of `names` is the method; the others share its arenas. REQUIRES: the program and its data files are loaded.
Status load_methods(const LoadRequest& request, const std::vector<std::string>& names, LoadedMethod& loaded) {
  Report report;
  loaded.pool = make_cpu_thread_pool(request.threads);
  HostOptions host;
  host.pool = loaded.pool.get();
  host.events = request.events;
  host.report = &report;
  host.resident = true;
  if (!request.more_methods.empty()) {
    auto arenas = HostArenas::make(*loaded.program, &report);
    if (!arenas.ok()) return failure_from(request.program, arenas.error(), report);
    loaded.arenas = std::make_unique<HostArenas>(std::move(arenas).value());
    host.arenas = loaded.arenas.get();
  }
  for (const std::string& name : names) {
    auto method = HostMethod::load(*loaded.program, name.c_str(), host);
    if (!method.ok()) return failure_from(request.program, method.error(), report);
    auto& place = loaded.method == nullptr ? loaded.method : loaded.others[name];
    place = std::make_unique<HostMethod>(std::move(method).value());
  }
  return Done{};
}

// Here, not in the first run.
void start_threads(ThreadPool* pool) {
  if (pool != nullptr) pool->run(pool->size(), 1, {[](void*, int64_t, int64_t) {}, nullptr});
}

}  // namespace

void add_load_options(CLI::App& command, LoadRequest& request) {
  add_device_map(command, request.devices);
  add_plugins(command, request.plugins);
  add_data(command, request.data);
  add_max_memory(command, request.max_memory);
  command.add_option("--pipeline-cache", request.pipeline_cache,
                     "a file that keeps compiled kernels of devices with Vulkan for the next run; made when missing");
}

Expected<std::unique_ptr<LoadedMethod>> load_method(const LoadRequest& request) {
  auto loaded = std::make_unique<LoadedMethod>();
  BERTH_ASSIGN_OR_RETURN(const std::vector<const Plugin*> plugins, open_plugins(request.plugins));
  BERTH_TRY(loaded->machine.add_plugins(plugins));
  BERTH_TRY(keep_pipelines(request, loaded->machine));
  BERTH_ASSIGN_OR_RETURN(loaded->kernels, PluginKernels::make(plugins));
  const Stopwatch watch;
  BERTH_ASSIGN_OR_RETURN(loaded->loader, open_loader(request));
  BERTH_TRY(load_program(request, *loaded));
  const double looking = look_for_devices(*loaded->program);
  BERTH_TRY(loaded->data.open(*loaded->program, request.program, request.data));
  BERTH_ASSIGN_OR_RETURN(const std::string name, choose_method(request, *loaded->program));
  const auto meta = loaded->program->method_meta(name.c_str());
  if (meta.ok()) BERTH_TRY(check_backends(request, loaded->machine, *meta));
  const std::vector<std::string> names = methods_to_load(request, name);
  if (request.max_memory != UINT64_MAX) {
    BERTH_TRY(check_memory(*loaded->program, request.program, names, !request.more_methods.empty(), request.threads,
                           request.max_memory));
  }
  BERTH_TRY(load_methods(request, names, *loaded));
  // Last, because idle threads poll for a while.
  start_threads(loaded->pool.get());
  loaded->seconds = watch.seconds() - looking;
  return loaded;
}

Failure failure_of(const LoadRequest& request, const Method& method) {
  const Report& report = method.last_report();
  return failure_from(request.program, report.code, report);
}

}  // namespace berth::tool
