#include "tools/inspect_program.h"

#include <fmt/format.h>

#include <map>
#include <sstream>

#include "compiler/import/pte/external_data.h"
#include "compiler/memory/packing/picture.h"
#include "format/tensor_facts.h"
#include "format/write/print_program.h"
#include "runtime/method_meta.h"
#include "tools/arenas_at_sizes.h"
#include "tools/inspect_copies.h"
#include "tools/inspect_sizes.h"
#include "tools/memory_needed.h"
#include "tools/names.h"
#include "tools/program_file.h"
#include "tools/reports.h"
#include "tools/timeline.h"
#include "tools/tool.h"

namespace berth::tool {
namespace {

// Whether the sizes of an input or output may differ between runs. Tensors that a loop stacks are dynamic in the file
// only because they grow during a run; if the compiler recorded symbols, all other sizes are fixed.
bool is_open(const MethodMeta& meta, bool input, size_t index, const TensorInfo& info) {
  if (info.dynamism != ShapeDynamism::kBounded || meta.names() == nullptr)
    return info.dynamism != ShapeDynamism::kStatic;
  const auto* ports = input ? meta.plan()->inputs() : meta.plan()->outputs();
  const int32_t value = ports->Get(static_cast<uint32_t>(index));
  for (uint32_t i = 0; i < format::length(meta.names()->dimensions()); ++i) {
    if (meta.names()->dimensions()->Get(i)->value() == value) return true;
  }
  return false;
}

Json port_json(const MethodMeta& meta, bool input, size_t index) {
  const auto tag = input ? meta.input_tag(index) : meta.output_tag(index);
  const ValueNames names = input ? meta.input_names(index) : meta.output_names(index);
  Json port = {{"name", port_name(names.name, input, index)}};
  if (!tag.ok() || *tag != Tag::kTensor) {
    port["dtype"] = tag.ok() ? tag_name(*tag) : "unknown";
    return port;
  }
  const auto info = input ? meta.input_tensor_meta(index) : meta.output_tensor_meta(index);
  if (!info.ok()) return port;
  port["dtype"] = to_string(info->dtype);
  port["shape"] = std::vector<int32_t>(info->sizes.begin(), info->sizes.end());
  if (is_open(meta, input, index, *info)) port["dynamic"] = true;
  port["device"] = device_name(info->device);
  return port;
}

std::map<std::string, int> operator_counts(const fb::ExecutionPlan& method) {
  std::map<std::string, int> counts;
  for (const fb::Chain* chain : *method.chains()) {
    if (chain->instructions() == nullptr) continue;
    for (const fb::Instruction* instruction : *chain->instructions()) {
      const auto* call = instruction->instr_args_as_KernelCall();
      if (call == nullptr) continue;
      const fb::Operator& op = *method.operators()->Get(static_cast<uint32_t>(call->op_index()));
      const std::string overload = format::text(op.overload());
      ++counts[format::text(op.name()) + (overload.empty() ? "" : "." + overload)];
    }
  }
  return counts;
}

// The sizes of inputs that are open, and what holds between them.
void add_sizes(const fb::MethodMeta* names, Json& method) {
  if (names == nullptr) return;
  for (uint32_t i = 0; i < format::length(names->symbols()); ++i) {
    const fb::Symbol& symbol = *names->symbols()->Get(i);
    if (symbol.kind() != fb::SymbolKind::INPUT) continue;
    add_size(format::text(symbol.name()), symbol.min(), symbol.max(), symbol.step(), method);
  }
  for (uint32_t i = 0; i < format::length(names->size_relations()); ++i) {
    add_relation(format::text(names->size_relations()->Get(i)->text()), method);
  }
}

Json method_json(const ProgramFile& program, size_t index) {
  const fb::ExecutionPlan& method = program.view.method(index);
  const MethodMeta meta(&method, method_names(program.view, index), DeviceMap());
  Json json = {{"name", meta.name()}, {"inputs", Json::array()}, {"outputs", Json::array()}};
  for (size_t i = 0; i < meta.num_inputs(); ++i) json["inputs"].push_back(port_json(meta, true, i));
  for (size_t i = 0; i < meta.num_outputs(); ++i) json["outputs"].push_back(port_json(meta, false, i));
  json["arenas"] = Json::array();
  const fb::MethodMeta* const names = method_names(program.view, index);
  add_sizes(names, json);
  for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    const auto bytes = meta.memory_planned_buffer_size(i);
    const auto device = meta.memory_planned_buffer_device(i);
    json["arenas"].push_back(
        {{"id", i + 1}, {"device", device_name(device.ok() ? *device : Device())}, {"bytes", bytes.ok() ? *bytes : 0}});
    if (meta.memory_planned_buffer_follows_sizes(i)) json["arenas"].back()["follows_sizes"] = true;
    if (names == nullptr || names->arenas() == nullptr) continue;
    for (const fb::ArenaPlan* arena : *names->arenas()) {
      if (arena->memory_id() != i + 1 || arena->bank() == nullptr) continue;
      json["arenas"].back()["bank"] = arena->bank()->str();
      if (arena->capacity() > 0) json["arenas"].back()["capacity"] = arena->capacity();
    }
  }
  json["operators"] = Json::object();
  for (const auto& [name, count] : operator_counts(method)) json["operators"][name] = count;
  json["delegates"] = Json::array();
  for (size_t i = 0; i < meta.num_delegates(); ++i) {
    json["delegates"].push_back({{"id", meta.delegate_id(i)}, {"device", delegate_device(method, i)}});
    const int64_t state = delegate_state(method, i);
    if (state > 0) json["delegates"].back()["state_bytes"] = state;
  }
  json["instructions"] = meta.num_instructions();
  json["copies"] = copies_json(method);
  return json;
}

std::string port_text(const Json& port) {
  std::string shape;
  if (port.contains("shape")) {
    for (const auto& size : port["shape"]) shape += (shape.empty() ? "" : "x") + std::to_string(size.get<int64_t>());
    shape = "[" + shape + "]";
  }
  const std::string device = port.contains("device") ? "@" + port["device"].get<std::string>() : "";
  return fmt::format("{}: {}{}{}{}", port["name"].get<std::string>(), port["dtype"].get<std::string>(), shape, device,
                     port.contains("dynamic") ? " at most" : "");
}

void print_method(const Json& method, std::string& text) {
  text += fmt::format("method {}: {}\n", method["name"].get<std::string>(),
                      counted(method["instructions"].get<int64_t>(), "instruction"));
  for (const auto& port : method["inputs"]) text += fmt::format("  input   {}\n", port_text(port));
  for (const auto& port : method["outputs"]) text += fmt::format("  output  {}\n", port_text(port));
  print_sizes(method, text);
  for (const auto& arena : method["arenas"]) {
    const int64_t bytes = arena["bytes"].get<int64_t>();
    std::string bank = arena.contains("bank") ? ", bank " + arena["bank"].get<std::string>() : "";
    if (arena.contains("capacity")) bank += " of " + bytes_text(arena["capacity"].get<int64_t>());
    std::string follows = arena.contains("follows_sizes") ? " at most, follows the sizes" : "";
    if (arena.contains("bytes_at_sizes")) {
      const int64_t needed = arena["bytes_at_sizes"].get<int64_t>();
      follows += fmt::format("; at the sizes given {} bytes ({})", needed, bytes_text(needed));
    }
    text += fmt::format("  arena   {} on {}{}: {} bytes ({}){}\n", arena["id"].get<int>(),
                        arena["device"].get<std::string>(), bank, bytes, bytes_text(bytes), follows);
  }
  if (method.contains("method_bytes")) {
    text +=
        fmt::format("  memory  {} for the method, {} for kernels while they run, on one thread\n",
                    bytes_text(method["method_bytes"].get<int64_t>()), bytes_text(method["temp_bytes"].get<int64_t>()));
  }
  for (const auto& delegate : method["delegates"]) {
    const std::string keeps = delegate.contains("state_bytes")
                                  ? ", keeps " + bytes_text(delegate["state_bytes"].get<int64_t>())
                                  : std::string();
    text += fmt::format("  delegate {} on {}{}\n", delegate["id"].get<std::string>(),
                        delegate["device"].get<std::string>(), keeps);
  }
  for (const auto& copy : method["copies"]) {
    const int64_t in_loops = copy["in_loops"].get<int64_t>();
    text += fmt::format("  copies  {} to {}: {} of {} bytes in total{}\n", copy["from"].get<std::string>(),
                        copy["to"].get<std::string>(), copy["count"].get<int64_t>(), copy["bytes"].get<int64_t>(),
                        in_loops > 0 ? fmt::format(", each once; {} in loops", in_loops) : "");
  }
  for (const auto& [name, count] : method["operators"].items())
    text += fmt::format("  {:5} x {}\n", count.get<int>(), name);
}

std::string plan_text(const Timeline& timeline) {
  std::string text;
  for (const TimelineArena& arena : timeline.arenas) {
    const ArenaPicture picture = arena_picture(arena);
    text += fmt::format("arena {} of {}:\n{}", arena.id, timeline.method,
                        packing::picture(picture.problem, picture.plan, 0));
  }
  return text;
}

// The tensors that a program needs from data files.
Json external_json(const ProgramFile& program) {
  Json list = Json::array();
  for (const ExternalUse& use : external_uses(program.view)) {
    list.push_back({{"key", use.key},
                    {"dtype", to_string(static_cast<DType>(use.tensor->scalar_type()))},
                    {"shape", list_of(use.tensor->sizes())},
                    {"bytes", use.bytes}});
  }
  return list;
}

void print_external(const InspectOptions& options, const ProgramFile& program, std::string& text) {
  const std::vector<ExternalUse> uses = external_uses(program.view);
  uint64_t bytes = 0;
  for (const ExternalUse& use : uses) bytes += use.bytes;
  if (uses.empty()) return;
  text +=
      fmt::format("{} of {} bytes are in data files (.ptd){}\n", counted(static_cast<int64_t>(uses.size()), "tensor"),
                  bytes, options.values ? ":" : "; --values names them");
  for (size_t i = 0; options.values && i < uses.size(); ++i) {
    text +=
        fmt::format("  {}: {}{} {} bytes\n", uses[i].key, to_string(static_cast<DType>(uses[i].tensor->scalar_type())),
                    shape_text(uses[i].tensor->sizes()), uses[i].bytes);
  }
}

Json lines_of(const std::string& text) {
  Json lines = Json::array();
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The output of --values, --instructions and --plan.
std::string details_of(const InspectOptions& options, const ProgramFile& program) {
  std::string text;
  if (options.values || options.instructions) {
    text = format::print_program(program.view, {options.values, options.instructions});
  }
  for (size_t m = 0; options.plan && m < program.view.method_count(); ++m)
    text += plan_text(timeline_of(program.view, m));
  return text;
}

}  // namespace

Json method_json(const format::ProgramView& program, size_t method) {
  return method_json(ProgramFile{"", nullptr, program}, method);
}

Expected<std::string> inspect_program(const InspectOptions& options, const std::vector<const Plugin*>& plugins) {
  BERTH_ASSIGN_OR_RETURN(const ProgramFile program, open_program(options.file));
  BERTH_ASSIGN_OR_RETURN([[maybe_unused]] const PayloadCheck payloads, check_payloads(program));
  const int64_t bytes = static_cast<int64_t>(program.file->bytes().size());
  Json json = {{"file", options.file}, {"format", "pte"}, {"bytes", bytes}, {"methods", Json::array()}};
  for (size_t m = 0; m < program.view.method_count(); ++m) json["methods"].push_back(method_json(program, m));
  add_memory_needed(options.file, plugins, json["methods"]);
  if (!options.sizes.where.empty()) {
    return Failure{Error::kInvalidArgument, "--where", "is for models; a program has its relations, which are shown"};
  }
  if (!options.sizes.shapes.empty()) {
    BERTH_TRY(add_bytes_at_sizes(options.file, options.data, plugins, options.sizes.shapes, json["methods"]));
  }
  json["external"] = external_json(program);
  const std::string details = details_of(options, program);
  if (options.json) {
    if (!details.empty()) json["text"] = lines_of(details);
    return json.text() + "\n";
  }
  std::string text;
  text += fmt::format("{}: a program of {} bytes ({})\n", options.file, bytes, bytes_text(bytes));
  for (const auto& method : json["methods"]) print_method(method, text);
  print_external(options, program, text);
  return text + details;
}

}  // namespace berth::tool
