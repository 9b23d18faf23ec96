#include "tools/arenas_at_sizes.h"

#include <climits>
#include <cstdlib>
#include <map>

#include "kernels/portable/portable.h"
#include "runtime/host/file_loader.h"
#include "runtime/host/host_method.h"
#include "runtime/host/plugin_kernels.h"
#include "tools/data_files.h"
#include "tools/input_shapes.h"
#include "tools/machine.h"
#include "tools/names.h"

namespace berth::tool {
namespace {

using Sizes = std::vector<int32_t>;

// "1x3x320x320"
Expected<Sizes> parse_sizes(const std::string& name, const std::string& text) {
  Sizes sizes;
  for (const char* at = text.c_str();;) {
    char* end = nullptr;
    const bool is_digit = *at >= '0' && *at <= '9';
    const unsigned long long size = std::strtoull(at, &end, 10);
    if (!is_digit || size > INT_MAX || (*end != '\0' && *end != 'x')) {
      return Failure{Error::kInvalidArgument, "--input-shape " + name + "=" + text,
                     "expected sizes that are numbers: a program is inspected at one size, such as 1x3x320x320"};
    }
    sizes.push_back(static_cast<int32_t>(size));
    if (*end == '\0') return sizes;
    at = end + 1;
  }
}

// The sizes of each input, -1 where they are not given.
std::vector<Sizes> sizes_of_inputs(const MethodMeta& meta, const std::map<std::string, Sizes>& given) {
  std::vector<Sizes> all(meta.num_inputs());
  for (size_t i = 0; i < all.size(); ++i) {
    const auto info = meta.input_tensor_meta(i);
    if (!info.ok()) continue;
    const auto found = given.find(port_name(meta.input_names(i).name, true, i));
    all[i] = found == given.end() ? Sizes(info->sizes.size(), -1) : found->second;
  }
  return all;
}

Expected<std::vector<uint64_t>> bytes_of(const Program& program, const std::string& name, const std::string& path,
                                         const std::vector<Sizes>& sizes) {
  Report report;
  HostOptions options;
  options.report = &report;
  auto method = HostMethod::load(program, name.c_str(), options);
  if (!method.ok()) return Failure{method.error(), path + ": " + report.place, report.message};
  const std::vector<Span<const int32_t>> spans(sizes.begin(), sizes.end());
  std::vector<uint64_t> bytes(method->method().meta().num_memory_planned_buffers());
  const Error error = method->method().planned_bytes(spans, bytes);
  if (error == Error::kOk) return bytes;
  const Report& said = method->method().last_report();
  return Failure{error, path + ": " + said.place, said.message};
}

Status check_names(const std::map<std::string, Sizes>& given, const Json& methods) {
  for (const auto& [name, sizes] : given) {
    bool found = false;
    for (const Json& method : methods) {
      for (const Json& input : method["inputs"]) found = found || input["name"].get<std::string>() == name;
    }
    if (!found) return Failure{Error::kInvalidArgument, "--input-shape " + name, "is not an input of a method"};
  }
  return Done{};
}

}  // namespace

Status add_bytes_at_sizes(const std::string& path, const std::vector<std::string>& data,
                          Span<const Plugin* const> plugins, const std::vector<std::string>& shapes, Json& methods) {
  ImportOptions parsed;
  BERTH_TRY(parse_input_shapes({shapes, {}}, parsed));
  std::map<std::string, Sizes> given;
  for (const auto& [name, text] : parsed.input_shapes) {
    BERTH_ASSIGN_OR_RETURN(given[name], parse_sizes(name, text));
  }
  BERTH_TRY(check_names(given, methods));
  auto loader = MappedFileLoader::open(path.c_str());
  if (!loader.ok()) return Failure{loader.error(), path, "cannot be opened"};
  Machine machine;
  BERTH_TRY(machine.add_plugins(plugins));
  BERTH_ASSIGN_OR_RETURN(const PluginKernels own, PluginKernels::make(plugins));
  const KernelTable tables[] = {own.table(), portable::kernels()};
  Report report;
  DataFiles external;
  LoadOptions options;
  options.report = &report;
  options.registry = &machine.registry();
  options.backends = machine.backends();
  options.external = &external;
  const auto program = Program::load(*loader, tables, options);
  if (!program.ok()) return Failure{program.error(), path + ": " + report.place, report.message};
  BERTH_TRY(external.open(*program, path, data));
  for (Json& method : methods) {
    const std::string name = method["name"].get<std::string>();
    const auto meta = program->method_meta(name.c_str());
    if (!meta.ok()) continue;
    BERTH_ASSIGN_OR_RETURN(const std::vector<uint64_t> bytes,
                           bytes_of(*program, name, path, sizes_of_inputs(*meta, given)));
    for (size_t i = 0; i < bytes.size(); ++i) method["arenas"][i]["bytes_at_sizes"] = bytes[i];
  }
  return Done{};
}

}  // namespace berth::tool
