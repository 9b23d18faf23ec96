#include "compiler/targets/target.h"

#include <algorithm>

#include "compiler/ir/delegate.h"
#include "compiler/ir/text.h"
#include "compiler/targets/cuda_operators.h"

namespace berth::targets {
namespace {

constexpr const char* kTargetNames = "portable, cpu, cuda:N, sim:N";

// Cheap to ask of every node: which symbols its results have that nothing it reads has.
bool has_data_dependent_size(const ir::Module& module, const ir::Method& method, const ir::Node& node) {
  const auto has_symbols = [&](ir::ValueId id) { return !method.tensor(id).is_static(); };
  if (std::none_of(node.results.begin(), node.results.end(), has_symbols)) return false;
  std::vector<bool> read(module.symbols.size());
  for (const ir::Argument& argument : node.args) {
    ir::for_each_dim(argument, [&](const ir::Dim& dim) { mark_symbols(module.symbols, dim, &read); });
    ir::for_each_value(argument, [&](const ir::ValueId& id) {
      for (ir::Dim dim : method.tensor(id).shape) mark_symbols(module.symbols, dim, &read);
    });
  }
  std::vector<bool> given(module.symbols.size());
  for (ir::ValueId id : node.results) {
    for (ir::Dim dim : method.tensor(id).shape) mark_symbols(module.symbols, dim, &given);
  }
  for (size_t s = 0; s < given.size(); ++s) {
    const bool free = module.symbols[static_cast<ir::SymbolId>(s)].kind == ir::SymbolKind::kInput;
    if (free && given[s] && !read[s]) return true;
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
  if (lower == "portable") {
    Target target;
    target.name = lower;
    return target;
  }
  const auto device = ir::parse_device(text, "target");
  if (!device.ok()) {
    return Failure{Error::kInvalidArgument, "target " + ir::quoted(text),
                   std::string("expected one of ") + kTargetNames};
  }
  Target target;
  target.name = to_text(*device).text;
  target.backend = std::string("berth.") + to_string(device->type);
  target.device = *device;
  switch (device->type) {
    case DeviceType::kCpu:
      target.alignment = 64;
      target.fuses = true;
      target.channels_last = true;
      target.isa = "native";
      break;
    case DeviceType::kCuda:
      target.alignment = 256;
      target.takes_operator = cuda_takes;
      break;
    case DeviceType::kSim: target.fuses = true; break;
  }
  return target;
}

}  // namespace

const char* to_string(Answer answer) {
  switch (answer) {
    case Answer::kTakes: return "takes";
    case Answer::kOperator: return "operator";
    case Answer::kDType: return "dtype";
    case Answer::kControlFlow: return "control-flow";
    case Answer::kState: return "state";
    case Answer::kCopy: return "copy";
    case Answer::kDelegated: return "delegated";
    case Answer::kScalar: return "scalar";
    case Answer::kRandom: return "random";
    case Answer::kDataDependentSize: return "data-dependent-size";
    case Answer::kSymbolUnknown: return "symbol-unknown";
    case Answer::kPlacedElsewhere: return "placed-elsewhere";
    case Answer::kViewsOnly: return "views-only";
    case Answer::kLastView: return "last-view";
  }
  return "?";
}

Answer ask(const Target& target, const ir::Module& module, const ir::Method& method, const ir::Node& node) {
  switch (node.op->id) {
    case ir::OpId::h2d_copy_out:
    case ir::OpId::d2h_copy_out:
    case ir::OpId::d2d_copy_out: return Answer::kCopy;
    case ir::OpId::delegate: return Answer::kDelegated;
    case ir::OpId::state_read:
    case ir::OpId::state_write: return Answer::kState;
    default: break;
  }
  if (!node.regions.empty()) return Answer::kControlFlow;
  if (target.is_portable()) return Answer::kTakes;
  if (has_scalars(method, node)) return Answer::kScalar;
  if (node.op->random) return Answer::kRandom;
  if (has_data_dependent_size(module, method, node)) return Answer::kDataDependentSize;
  return target.takes_operator == nullptr ? Answer::kTakes : target.takes_operator(method, node);
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

void mark_symbols(const ir::Symbols& symbols, ir::Dim dim, std::vector<bool>* flags) {
  if (dim.is_constant() || (*flags)[static_cast<size_t>(dim.symbol)]) return;
  (*flags)[static_cast<size_t>(dim.symbol)] = true;
  const ir::Symbol& symbol = symbols[dim.symbol];
  if (symbol.kind == ir::SymbolKind::kInput) return;
  mark_symbols(symbols, symbol.a, flags);
  mark_symbols(symbols, symbol.b, flags);
}

}  // namespace berth::targets
