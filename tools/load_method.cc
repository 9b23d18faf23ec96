#include "tools/load_method.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "backends/cpu/thread_pool.h"
#include "base/output_file.h"
#include "kernels/portable/portable.h"
#include "runtime/host/dim_order_copy.h"
#include "runtime/log.h"
#include "tools/largest_sizes.h"
#include "tools/memory_limit.h"
#include "tools/names.h"
#include "tools/plugins.h"
#include "tools/program_file.h"
#include "tools/samples.h"
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

// Parses "X.npy" or "NAME=X.npy".
std::string file_of(const std::string& input) { return input.substr(input.find('=') + 1); }

// Assigns files to inputs, by name or in order.
Expected<std::vector<std::string>> assign_files(const LoadRequest& request, const MethodMeta& meta) {
  std::vector<std::string> files(meta.num_inputs());
  size_t next = 0;
  for (const std::string& text : request.inputs) {
    const size_t equals = text.find('=');
    size_t index = meta.num_inputs();
    if (equals != std::string::npos) {
      for (size_t i = 0; i < meta.num_inputs(); ++i) {
        if (port_name(meta.input_names(i).name, true, i) == text.substr(0, equals)) index = i;
      }
    } else {
      while (next < files.size() && !files[next].empty()) ++next;
      index = next;
    }
    if (index >= files.size()) {
      return Failure{Error::kInvalidArgument, "--input " + text,
                     equals != std::string::npos
                         ? "the method has no input of that name; berth inspect lists them"
                         : "the method has only " + counted(static_cast<int64_t>(files.size()), "input")};
    }
    files[index] = file_of(text);
  }
  return files;
}

bool is_generic(const std::string& text) { return text == "gpu" || text.rfind("gpu:", 0) == 0; }

// "cuda:1", or "gpu" and "gpu:1" for whatever GPU is registered.
Expected<Device> parse_target(const std::string& option, const std::string& text,
                              const DeviceAllocatorRegistry& registry) {
  const auto device = parse_device(text.data(), text.size());
  if (device.ok()) return *device;
  // The index is read as that of another type.
  const bool generic = is_generic(text);
  const std::string indexed = generic ? "cuda" + text.substr(3) : "";
  const auto index = parse_device(indexed.data(), indexed.size());
  if (!generic || !index.ok()) {
    return Failure{Error::kInvalidArgument, option,
                   std::string("expected [METHOD:]FROM=TO, such as cuda:0=cuda:1; the types are ") +
                       device_type_names() + ", and gpu where TO is whatever GPU is there"};
  }
  Report report;
  const auto gpu = registry.find_gpu(index->index, &report);
  if (!gpu.ok()) return Failure{gpu.error(), option, report.message};
  return *gpu;
}

struct Mapping {
  std::string method;  // empty: every method
  Device from;
  Device to;
};

// "cuda:0=sim:0", or "decode:cuda:0=sim:0" for one method.
Expected<Mapping> parse_mapping(const std::string& text, const DeviceAllocatorRegistry& registry) {
  const std::string option = "--map-device " + text;
  const size_t equals = text.find('=');
  Mapping mapping;
  BERTH_ASSIGN_OR_RETURN(mapping.to,
                         parse_target(option, equals == std::string::npos ? "" : text.substr(equals + 1), registry));
  // Names of methods may contain ':'. What is a device as a whole is one.
  for (size_t start = 0; start < equals; ++start) {
    const auto from = parse_device(text.data() + start, equals - start);
    if (!from.ok()) {
      start = std::min(text.find(':', start), equals);
      continue;
    }
    mapping.method = start == 0 ? "" : text.substr(0, start - 1);
    mapping.from = *from;
    return mapping;
  }
  const std::string from = text.substr(0, equals);
  const size_t colon = from.find(":gpu");
  if (is_generic(from) || (colon != std::string::npos && is_generic(from.substr(colon + 1)))) {
    return Failure{
        Error::kInvalidArgument, option,
        "FROM is a device of the file, as berth inspect prints it; what runs there was compiled for one type, so "
        "gpu is for TO alone"};
  }
  return parse_target(option, "", registry).error();
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

}  // namespace

void add_device_map(CLI::App& command, LoadRequest& request) {
  command
      .add_option(
          "--map-device", request.devices,
          "[METHOD:]FROM=TO, such as cuda:0=cuda:1: use another device than the file, in this method or in all; "
          "TO may be gpu or gpu:1 for whatever type of GPU is there")
      ->allow_extra_args(false);
}

void add_load_options(CLI::App& command, LoadRequest& request) {
  add_device_map(command, request);
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
  Report report;
  LoadOptions options;
  options.verification = request.full_verification ? Verification::kFull : Verification::kMinimal;
  options.report = &report;
  options.registry = &loaded->machine.registry();
  if (request.events != nullptr) {
    loaded->devices = std::make_unique<ObservedDevices>(loaded->machine.registry(), request.events);
    options.registry = &loaded->devices->registry();
  }
  options.backends = loaded->machine.backends();
  std::vector<Mapping> texts;
  for (const std::string& text : request.devices) {
    BERTH_ASSIGN_OR_RETURN(Mapping mapping, parse_mapping(text, loaded->machine.registry()));
    texts.push_back(std::move(mapping));
  }
  std::vector<DeviceMapping> mappings;
  for (const Mapping& mapping : texts) {
    mappings.push_back({mapping.from, mapping.to, mapping.method.empty() ? nullptr : mapping.method.c_str()});
  }
  options.devices = Span<const DeviceMapping>(mappings.data(), mappings.size());
  options.external = &loaded->data;
  const KernelTable tables[] = {loaded->kernels.table(), portable::kernels()};
  auto program = [&] {
    const EventScope scope(request.events, Event::Kind::kLoad, "", "program");
    return Program::load(*loaded->loader, tables, options);
  }();
  if (!program.ok()) {
    return if_no_program(request.program, failure_from(request.program, program.error(), report));
  }
  loaded->program = std::make_unique<Program>(std::move(program).value());
  const double looking = look_for_devices(*loaded->program);
  BERTH_TRY(loaded->data.open(*loaded->program, request.program, request.data));
  BERTH_ASSIGN_OR_RETURN(const std::string name, choose_method(request, *loaded->program));
  const auto meta = loaded->program->method_meta(name.c_str());
  if (meta.ok()) BERTH_TRY(check_backends(request, loaded->machine, *meta));
  if (request.max_memory != UINT64_MAX) {
    std::vector<std::string> methods = {name};
    for (const std::string& other : request.more_methods) {
      if (!other.empty() && std::find(methods.begin(), methods.end(), other) == methods.end()) methods.push_back(other);
    }
    BERTH_TRY(check_memory(*loaded->program, request.program, methods, !request.more_methods.empty(), request.threads,
                           request.max_memory));
  }
  loaded->pool = make_cpu_thread_pool(request.threads);
  HostOptions host;
  host.pool = loaded->pool.get();
  host.events = request.events;
  host.report = &report;
  host.resident = true;
  if (!request.more_methods.empty()) {
    auto arenas = HostArenas::make(*loaded->program, &report);
    if (!arenas.ok()) return failure_from(request.program, arenas.error(), report);
    loaded->arenas = std::make_unique<HostArenas>(std::move(arenas).value());
    host.arenas = loaded->arenas.get();
  }
  auto method = HostMethod::load(*loaded->program, name.c_str(), host);
  if (!method.ok()) return failure_from(request.program, method.error(), report);
  loaded->method = std::make_unique<HostMethod>(std::move(method).value());
  for (const std::string& other : request.more_methods) {
    if (other.empty() || other == name || loaded->others.count(other) != 0) continue;
    auto more = HostMethod::load(*loaded->program, other.c_str(), host);
    if (!more.ok()) return failure_from(request.program, more.error(), report);
    loaded->others[other] = std::make_unique<HostMethod>(std::move(more).value());
  }
  // Starts the threads here, not in the first run; last, because idle threads poll for a while.
  if (loaded->pool != nullptr) {
    loaded->pool->run(loaded->pool->size(), 1, {[](void*, int64_t, int64_t) {}, nullptr});
  }
  loaded->seconds = watch.seconds() - looking;
  return loaded;
}

std::vector<std::string> files_read(const LoadRequest& request, const LoadedMethod& loaded) {
  std::vector<std::string> files = loaded.data.files();
  files.push_back(request.program);
  for (const std::string& input : request.inputs) files.push_back(file_of(input));
  return files;
}

Expected<std::vector<Array>> gather_inputs(const LoadRequest& request, Method& method) {
  const MethodMeta meta = method.meta();
  BERTH_ASSIGN_OR_RETURN(const std::vector<std::string> files, assign_files(request, meta));
  std::vector<Array> arrays(files.size());
  std::mt19937 random(0);
  const std::vector<std::vector<int32_t>> largest = largest_sizes(meta);
  for (size_t i = 0; i < files.size(); ++i) {
    if (!files[i].empty()) {
      BERTH_ASSIGN_OR_RETURN(arrays[i], read_npy(files[i]));
      continue;
    }
    const auto info = meta.input_tensor_meta(i);
    if (!info.ok()) continue;
    arrays[i] = random_array(info->dtype, {largest[i].begin(), largest[i].end()}, random);
    // If some inputs were given, this one may have been forgotten.
    if (!request.inputs.empty()) {
      fmt::print(stderr, "berth: input {} is not given; using random numbers\n",
                 port_name(meta.input_names(i).name, true, i));
    }
  }
  return arrays;
}

// Copies an input to its device, if its memory is the caller's.
Status upload(LoadedMethod& loaded, size_t index, Device device, const Array& array, const void** data) {
  const DeviceAllocatorRegistry& registry = loaded.program->registry();
  loaded.inputs.resize(std::max(loaded.inputs.size(), index + 1));
  DeviceMemoryBuffer& buffer = loaded.inputs[index];
  const std::string place = "input " + std::to_string(index) + " on " + to_text(device).text;
  if (buffer.size() < array.bytes.size()) {
    auto made = DeviceMemoryBuffer::create(array.bytes.size(), device, DeviceAllocator::kDefaultAlignment, registry);
    if (!made.ok()) return Failure{made.error(), place, "its memory cannot be allocated"};
    buffer = std::move(made).value();
  }
  const Error error = registry.get_allocator(device.type)
                          ->copy_host_to_device(buffer.data(), array.bytes.data(), array.bytes.size(), device.index);
  if (error != Error::kOk) return Failure{error, place, "cannot be copied there"};
  *data = buffer.data();
  return Done{};
}

// Files are row-major; the program may use another dimension order.
void reorder(Array& array, Span<const uint8_t> dim_order) {
  const size_t rank = array.shape.size();
  if (dim_order.size() != rank || same_dim_order({}, dim_order, rank)) return;
  std::vector<int32_t> sizes;
  size_t bytes = element_size(array.dtype);
  for (const int64_t size : array.shape) {
    sizes.push_back(static_cast<int32_t>(size));
    bytes *= size;
  }
  if (bytes != array.bytes.size()) return;
  std::vector<uint8_t> reordered(bytes);
  copy_to_dim_order(array.bytes.data(), {}, reordered.data(), dim_order, sizes, element_size(array.dtype));
  array.bytes = std::move(reordered);
}

Status set_inputs(LoadedMethod& loaded, std::vector<Array>& arrays) {
  Method& method = loaded.method->method();
  for (size_t i = 0; i < arrays.size(); ++i) {
    const MethodMeta meta = method.meta();
    const auto tag = meta.input_tag(i);
    if (!tag.ok() || *tag != Tag::kTensor) {
      // Numbers and strings are compiled into the program, so its own values are the only valid ones.
      if (method.set_input(i, method.get_input(i)) == Error::kOk) continue;
      return Failure{method.last_report().code, port_name(meta.input_names(i).name, true, i),
                     method.last_report().message};
    }
    std::vector<int32_t> sizes;
    for (int64_t dim : arrays[i].shape) sizes.push_back(static_cast<int32_t>(std::min<int64_t>(dim, INT32_MAX)));
    const auto info = meta.input_tensor_meta(i);
    // Types that NumPy does not have are stored as integers of the same size.
    const bool same_bits = info.ok() && arrays[i].dtype != info->dtype && !is_floating(arrays[i].dtype) &&
                           (info->dtype == DType::kBF16 || is_complex(info->dtype) || info->dtype > DType::kBF16) &&
                           element_size(arrays[i].dtype) == element_size(info->dtype);
    const DType dtype = same_bits ? info->dtype : arrays[i].dtype;
    if (info.ok()) reorder(arrays[i], info->dim_order);
    const void* data = arrays[i].bytes.data();
    const Device device = info.ok() ? info->device : Device();
    if (!device.is_cpu()) BERTH_TRY(upload(loaded, i, device, arrays[i], &data));
    if (method.set_input(i, data, sizes, dtype, device) != Error::kOk) {
      const Report& report = method.last_report();
      return Failure{report.code, "input " + port_name(meta.input_names(i).name, true, i), report.message};
    }
  }
  return Done{};
}

Failure failure_of(const LoadRequest& request, const Method& method) {
  const Report& report = method.last_report();
  return failure_from(request.program, report.code, report);
}

}  // namespace berth::tool
