// berth inspect: shows the contents of a file.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <sstream>

#include "compiler/compile.h"
#include "compiler/import/pte/external_data.h"
#include "compiler/ir/operators.h"
#include "compiler/ir/print.h"
#include "compiler/memory/packing/picture.h"
#include "compiler/targets/plugin_operators.h"
#include "format/tensor_facts.h"
#include "format/write/print_program.h"
#include "runtime/method_meta.h"
#include "tools/arenas_at_sizes.h"
#include "tools/data_files.h"
#include "tools/etdump.h"
#include "tools/input_shapes.h"
#include "tools/inspect_runs.h"
#include "tools/memory_needed.h"
#include "tools/names.h"
#include "tools/plugins.h"
#include "tools/program_file.h"
#include "tools/reports.h"
#include "tools/timeline.h"
#include "tools/tool.h"

namespace berth::tool {
namespace {

struct InspectOptions {
  std::string file;
  bool json = false;
  bool values = false;
  bool instructions = false;
  bool plan = false;
  bool ir = false;
  SizeTexts sizes;
  std::vector<std::string> data;
  std::vector<std::string> plugins;
  std::vector<const Plugin*> more_plugins;
};

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

bool is_copy(const fb::Operator& op) {
  const ir::Operator* row = ir::find_out_variant(format::text(op.name()), format::text(op.overload()));
  return row != nullptr && row->is_device_copy();
}

// For each instruction of a chain, whether it is inside a loop.
std::vector<bool> in_loops(const flatbuffers::Vector<flatbuffers::Offset<fb::Instruction>>& instructions) {
  std::vector<int> loops(instructions.size() + 1);  // how many more begin there than end
  for (uint32_t k = 0; k < instructions.size(); ++k) {
    const auto* jump = instructions.Get(k)->instr_args_as_JumpFalseCall();
    if (jump == nullptr || jump->destination_instruction() > static_cast<int64_t>(k)) continue;
    ++loops[jump->destination_instruction()];
    --loops[k + 1];
  }
  std::vector<bool> inside(instructions.size());
  int open = 0;
  for (size_t k = 0; k < inside.size(); ++k) inside[k] = (open += loops[k]) > 0;
  return inside;
}

struct CopySums {
  int64_t count = 0;
  int64_t bytes = 0;
  int64_t in_loops = 0;
};

// The instructions that copy between devices, by direction, each counted once.
Json copies_json(const fb::ExecutionPlan& method) {
  std::map<std::pair<std::string, std::string>, CopySums> copies;
  for (const fb::Chain* chain : *method.chains()) {
    if (chain->instructions() == nullptr) continue;
    const std::vector<bool> looped = in_loops(*chain->instructions());
    for (uint32_t k = 0; k < chain->instructions()->size(); ++k) {
      const auto* call = chain->instructions()->Get(k)->instr_args_as_KernelCall();
      if (call == nullptr || call->args()->size() < 2) continue;
      const fb::Operator& op = *method.operators()->Get(static_cast<uint32_t>(call->op_index()));
      if (!is_copy(op)) continue;
      const fb::Tensor* from = format::tensor_at(method, call->args()->Get(0));
      const fb::Tensor* to = format::tensor_at(method, call->args()->Get(1));
      uint64_t bytes = 0;
      if (from == nullptr || to == nullptr || !format::tensor_nbytes(*from, &bytes)) continue;
      CopySums& sums = copies[{device_name(format::tensor_device(*from)), device_name(format::tensor_device(*to))}];
      ++sums.count;
      sums.bytes += static_cast<int64_t>(bytes);
      sums.in_loops += looped[k] ? 1 : 0;
    }
  }
  Json list = Json::array();
  for (const auto& [ends, sums] : copies) {
    list.push_back({{"from", ends.first},
                    {"to", ends.second},
                    {"count", sums.count},
                    {"bytes", sums.bytes},
                    {"in_loops", sums.in_loops}});
  }
  return list;
}

void add_size(const std::string& name, int64_t min, int64_t max, int64_t step, Json& method) {
  if (!method.contains("sizes")) method["sizes"] = Json::array();
  method["sizes"].push_back({{"name", name}, {"min", min}, {"max", max}});
  if (step > 1) method["sizes"].back()["step"] = step;
}

void add_relation(const std::string& text, Json& method) {
  if (!method.contains("relations")) method["relations"] = Json::array();
  method["relations"].push_back(text);
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

void add_sizes(const ir::Symbols& symbols, Json& method) {
  for (const ir::SymbolId id : symbols.ids()) {
    const ir::Symbol& symbol = symbols[id];
    if (symbol.kind == ir::SymbolKind::kInput) add_size(symbol.name, symbol.min, symbol.max, symbol.step, method);
  }
  for (const ir::SizeRelation& relation : symbols.relations()) add_relation(symbols.text(relation), method);
}

void print_sizes(const Json& method, std::string& text) {
  if (method.contains("sizes")) {
    for (const auto& size : method["sizes"]) {
      const std::string step =
          size.contains("step") ? fmt::format(" in steps of {}", size["step"].get<int64_t>()) : std::string();
      text += fmt::format("  size    {}: {} to {}{}\n", size["name"].get<std::string>(), size["min"].get<int64_t>(),
                          size["max"].get<int64_t>(), step);
    }
  }
  if (!method.contains("relations")) return;
  for (const auto& relation : method["relations"]) text += fmt::format("  where   {}\n", relation.get<std::string>());
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

std::string shape_text(const flatbuffers::Vector<int32_t>* sizes) {
  std::string shape;
  for (uint32_t i = 0; i < format::length(sizes); ++i) {
    shape += (shape.empty() ? "" : "x") + std::to_string(sizes->Get(i));
  }
  return "[" + shape + "]";
}

std::vector<int32_t> list_of(const flatbuffers::Vector<int32_t>* sizes) {
  return sizes == nullptr ? std::vector<int32_t>() : std::vector<int32_t>(sizes->begin(), sizes->end());
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

Expected<std::string> inspect_data(const InspectOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const ExternalData data, ExternalData::open({options.file}));
  BERTH_ASSIGN_OR_RETURN(const auto file, MappedFile::open(options.file));
  const int64_t total = static_cast<int64_t>(file->bytes().size());
  if (options.json) {
    Json json = {{"file", options.file}, {"format", "ptd"}, {"bytes", total}, {"blobs", Json::array()}};
    for (const auto& [key, blob] : data.blobs()) {
      Json one = {{"key", key}, {"bytes", blob.size}};
      if (blob.layout != nullptr) {
        one["dtype"] = to_string(static_cast<DType>(blob.layout->scalar_type()));
        one["shape"] = list_of(blob.layout->sizes());
      }
      json["blobs"].push_back(std::move(one));
    }
    return json.text() + "\n";
  }
  std::string text;
  text += fmt::format("{}: a data file of {} bytes ({}) with {} tensors and blobs\n", options.file, total,
                      bytes_text(total), data.blobs().size());
  for (const auto& [key, blob] : data.blobs()) {
    const std::string type =
        blob.layout == nullptr
            ? std::string("raw bytes")
            : std::string(to_string(static_cast<DType>(blob.layout->scalar_type()))) + shape_text(blob.layout->sizes());
    text += fmt::format("  {}: {} {} bytes\n", key, type, blob.size);
  }
  return text;
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

// Like a program's inputs and outputs, plus the type in IR syntax, with the names of sizes.
Json model_port_json(const std::string& name, const ir::Value& value, const ir::Symbols& symbols) {
  Json port = {{"name", name}};
  const ir::TensorType* type = value.tensor();
  if (type != nullptr) {
    port["dtype"] = to_string(type->dtype);
    port["shape"] = Json::array();
    for (const ir::Dim dim : type->shape) port["shape"].push_back(symbols.upper(dim));
    if (!type->is_static()) port["dynamic"] = true;
    port["device"] = device_name(type->device);
  }
  port["type"] = ir::print(value.type, symbols);
  return port;
}

Expected<std::string> inspect_model(const InspectOptions& options, const std::vector<const Plugin*>& plugins) {
  ImportOptions import;
  BERTH_TRY(parse_input_shapes(options.sizes, import));
  import.data_files = options.data;
  BERTH_ASSIGN_OR_RETURN(import.operators, plugin_operators(plugins));
  BERTH_ASSIGN_OR_RETURN(const ir::Module module, load_model(options.file, import));
  if (options.values || options.instructions || options.ir) {
    return ir::print(module, {/*elide=*/true});
  }
  Json json = {{"file", options.file}, {"format", "model"}, {"methods", Json::array()}};
  for (const ir::Method& method : module.methods) {
    Json entry = {{"name", method.name}, {"inputs", Json::array()}, {"outputs", Json::array()}};
    const auto add = [&](const char* list, const std::string& name, ir::ValueId id) {
      entry[list].push_back(model_port_json(name, method.value(id), module.symbols));
    };
    for (ir::ValueId id : method.body.inputs) add("inputs", method.value(id).name, id);
    for (size_t k = 0; k < method.body.outputs.size(); ++k) {
      const auto* id = std::get_if<ir::ValueId>(&method.body.outputs[k]);
      if (id != nullptr) add("outputs", method.output_name(k), *id);
    }
    std::map<std::string, int> counts;
    for (ir::NodeId id : method.body.nodes) ++counts[method.node(id).op->functional_name];
    for (const auto& [name, count] : counts) entry["operators"][name] = count;
    add_sizes(module.symbols, entry);
    json["methods"].push_back(entry);
  }
  if (options.json) {
    return json.text() + "\n";
  }
  std::string text;
  for (const auto& method : json["methods"]) {
    text += fmt::format("{}: method {}\n", options.file, method["name"].get<std::string>());
    for (const char* list : {"inputs", "outputs"}) {
      for (const auto& port : method[list]) {
        text += fmt::format("  {:<7} {}: {}\n", list[0] == 'i' ? "input" : "output", port["name"].get<std::string>(),
                            port["type"].get<std::string>());
      }
    }
    print_sizes(method, text);
    if (!method.contains("operators")) continue;
    for (const auto& [name, count] : method["operators"].items())
      text += fmt::format("  {:5} x {}\n", count.get<int>(), name);
  }
  return text;
}

Expected<std::string> run_inspect(const InspectOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<const Plugin*> plugins, open_plugins(options.plugins, options.more_plugins));
  BERTH_ASSIGN_OR_RETURN(const auto file, MappedFile::open(options.file));
  if (looks_like_data_file(file->bytes())) return inspect_data(options);
  if (looks_like_run_record(file->bytes())) return inspect_runs(options.file, *file, options.json);
  return is_program(*file) && !options.ir ? inspect_program(options, plugins) : inspect_model(options, plugins);
}

}  // namespace

Json method_json(const format::ProgramView& program, size_t method) {
  return method_json(ProgramFile{"", nullptr, program}, method);
}

void add_inspect(CLI::App& app, Session& session) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command =
      app.add_subcommand("inspect", "Show the contents of a program, a model, or another file of theirs");
  command
      ->add_option("FILE", options->file,
                   "a program or a model, an " + model_extensions(" or ") +
                       " file; a .ptd data file; or a record of runs, .etdp")
      ->required();
  add_input_shapes(*command, options->sizes);
  add_data(*command, options->data);
  add_plugins(*command, options->plugins);
  command->add_flag("--json", options->json, "one JSON object instead of text");
  command->add_flag("--values", options->values, "every value with its type and offset");
  command->add_flag("--instructions", options->instructions, "every instruction");
  command->add_flag("--plan", options->plan, "draw each arena: time to the right, memory upward");
  command->add_flag("--ir", options->ir, "the graph that the compiler makes of it; also for programs");
  command->footer("example: berth inspect model.pte --plan");
  command->callback([options, &session] {
    options->more_plugins = session.plugins;
    session.finish(run_inspect(*options));
  });
}

}  // namespace berth::tool
