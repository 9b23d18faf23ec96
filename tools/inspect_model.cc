#include "tools/inspect_model.h"

#include <fmt/format.h>

#include <map>

#include "compiler/compile.h"
#include "compiler/ir/operators.h"
#include "compiler/ir/print.h"
#include "compiler/targets/plugin_operators.h"
#include "tools/inspect_sizes.h"
#include "tools/names.h"

namespace berth::tool {
namespace {

void add_sizes(const ir::Symbols& symbols, Json& method) {
  for (const ir::SymbolId id : symbols.ids()) {
    const ir::Symbol& symbol = symbols[id];
    if (symbol.kind == ir::SymbolKind::kInput) add_size(symbol.name, symbol.min, symbol.max, symbol.step, method);
  }
  for (const ir::SizeRelation& relation : symbols.relations()) add_relation(symbols.text(relation), method);
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

}  // namespace

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

}  // namespace berth::tool
