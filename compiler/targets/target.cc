#include "compiler/targets/target.h"

#include <algorithm>

#include "base/backend_facts.h"
#include "compiler/ir/delegate.h"
#include "compiler/ir/text.h"
#include "compiler/targets/cuda_operators.h"

namespace berth::targets {
namespace {

constexpr char kPortable[] = "portable";

std::string list_of_targets() {
  std::string list;
  for (const std::string& name : target_names()) list += (list.empty() ? "" : ", ") + name;
  return list;
}

// Cheap to ask of every node: which symbols its results have that nothing it reads has.
bool has_data_dependent_size(const ir::Module& module, const ir::Method& method, const ir::Node& node) {
  const auto has_symbols = [&](ir::ValueId id) { return !method.tensor(id).is_static(); };
  if (std::none_of(node.results.begin(), node.results.end(), has_symbols)) return false;
  IdVector<ir::SymbolId, bool> read(module.symbols.size());
  for (const ir::Argument& argument : node.args) {
    ir::for_each_dim(argument, [&](const ir::Dim& dim) { mark_symbols(module.symbols, dim, &read); });
    ir::for_each_value(argument, [&](const ir::ValueId& id) {
      for (ir::Dim dim : method.tensor(id).shape) mark_symbols(module.symbols, dim, &read);
    });
  }
  IdVector<ir::SymbolId, bool> given(module.symbols.size());
  for (ir::ValueId id : node.results) {
    for (ir::Dim dim : method.tensor(id).shape) mark_symbols(module.symbols, dim, &given);
  }
  for (ir::SymbolId id : given.ids()) {
    const bool free = module.symbols[id].kind == ir::SymbolKind::kInput;
    if (free && given[id] && !read[id]) return true;
  }
  return false;
}

bool has_scalars(const ir::Method& method, const ir::Node& node) {
  const auto is_scalar = [&](ir::ValueId id) { return method.value(id).tensor() == nullptr; };
  bool found = std::any_of(node.results.begin(), node.results.end(), is_scalar);
  for (const ir::Argument& argument : node.args) {
    ir::for_each_value(argument, [&](const ir::ValueId& id) { found = found || is_scalar(id); });
  }
  return found;
}

Expected<Target> parse_target(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (lower == kPortable) {
    Target target;
    target.name = lower;
    return target;
  }
  const auto device = ir::parse_device(text, "target");
  if (!device.ok()) {
    return Failure{Error::kInvalidArgument, "target " + ir::quoted(text), "expected one of " + list_of_targets()};
  }
  Target target;
  target.name = to_text(*device).text;
  target.backend = std::string(kBerthsOwn) + to_string(device->type);
  target.device = *device;
  switch (device->type) {
    case DeviceType::kCpu:
      target.fuses = true;
      target.channels_last = true;
      target.isa = "native";
      break;
    case DeviceType::kCuda: target.takes_operator = cuda_supports; break;
    case DeviceType::kSim: target.fuses = true; break;
  }
  return target;
}

}  // namespace

const char* to_string(Support support) {
  switch (support) {
    case Support::kSupported: return "takes";
    case Support::kOperator: return "operator";
    case Support::kDType: return "dtype";
    case Support::kControlFlow: return "control-flow";
    case Support::kState: return "state";
    case Support::kCopy: return "copy";
    case Support::kDelegated: return "delegated";
    case Support::kScalar: return "scalar";
    case Support::kRandom: return "random";
    case Support::kDataDependentSize: return "data-dependent-size";
    case Support::kSymbolUnknown: return "symbol-unknown";
    case Support::kPlacedElsewhere: return "placed-elsewhere";
    case Support::kViewsOnly: return "views-only";
    case Support::kLastView: return "last-view";
  }
  return "?";
}

Support supports(const Target& target, const ir::Module& module, const ir::Method& method, const ir::Node& node) {
  if (node.op->is_device_copy()) return Support::kCopy;
  switch (node.op->id) {
    case ir::OpId::delegate: return Support::kDelegated;
    case ir::OpId::state_read:
    case ir::OpId::state_write: return Support::kState;
    default: break;
  }
  if (!node.regions.empty()) return Support::kControlFlow;
  if (target.is_portable()) return Support::kSupported;
  if (has_scalars(method, node)) return Support::kScalar;
  if (node.op->is_random()) return Support::kRandom;
  if (has_data_dependent_size(module, method, node)) return Support::kDataDependentSize;
  return target.takes_operator == nullptr ? Support::kSupported : target.takes_operator(method, node);
}

std::vector<std::string> target_names() {
  std::vector<std::string> names = {kPortable};
  for (const DeviceType type : kDeviceTypes) {
    names.push_back(std::string(to_string(type)) + (type == DeviceType::kCpu ? "" : ":N"));
  }
  return names;
}

Expected<std::vector<Target>> parse_targets(std::string_view list) {
  std::vector<Target> targets;
  for (;;) {
    const size_t comma = std::min(list.find(','), list.size());
    BERTH_ASSIGN_OR_RETURN(Target target, parse_target(list.substr(0, comma)));
    const auto same = [&](const Target& other) { return other.name == target.name; };
    if (std::any_of(targets.begin(), targets.end(), same)) {
      return Failure{Error::kInvalidArgument, "target " + ir::quoted(target.name), "stands twice in the list"};
    }
    targets.push_back(std::move(target));
    if (comma == list.size()) return targets;
    list.remove_prefix(comma + 1);
  }
}

void mark_symbols(const ir::Symbols& symbols, ir::Dim dim, IdVector<ir::SymbolId, bool>* flags) {
  if (dim.is_constant() || (*flags)[dim.symbol]) return;
  (*flags)[dim.symbol] = true;
  const ir::Symbol& symbol = symbols[dim.symbol];
  if (symbol.kind == ir::SymbolKind::kInput) return;
  mark_symbols(symbols, symbol.a, flags);
  mark_symbols(symbols, symbol.b, flags);
}

}  // namespace berth::targets
