#include "compiler/targets/target.h"

#include <algorithm>
#include <cstring>

#include "base/delegate_specs.h"
#include "base/target_device.h"
#include "compiler/ir/delegate.h"
#include "compiler/ir/text.h"
#include "compiler/targets/own/own_targets.h"
#include "compiler/targets/plugin_target.h"

namespace berth::targets {
namespace {

// Berth's own come first, as a plug-in that is always there.
std::vector<const Plugin*> with_own(Span<const Plugin* const> plugins) {
  static const Plugin* const own = Plugin::adopt(own::own_targets, "Berth").value();
  std::vector<const Plugin*> all = {own};
  all.insert(all.end(), plugins.begin(), plugins.end());
  return all;
}

// A name of Berth's own means the same wherever it stands.
Status check_names(const std::vector<const Plugin*>& plugins) {
  for (const Plugin* plugin : plugins) {
    for (const berth_target& target : plugin->targets()) {
      const auto same = [&](const berth_target& own) { return std::strcmp(own.name, target.name) == 0; };
      const std::vector<berth_target>& own = plugins[0]->targets();
      if (plugin == plugins[0] || std::none_of(own.begin(), own.end(), same)) continue;
      return Failure{Error::kInvalidArgument, "plug-in " + plugin->place() + ": target " + target.name,
                     "has the name of a target of Berth's own"};
    }
  }
  return Done{};
}

std::string list_of_targets(Span<const Plugin* const> plugins) {
  std::string list;
  for (const std::string& name : target_names(plugins)) list += (list.empty() ? "" : ", ") + name;
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

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

// The plug-in's target of this name, or null.
Expected<const berth_target*> find_plugin_target(const std::string& name, Span<const Plugin* const> plugins) {
  const berth_target* found = nullptr;
  for (const Plugin* plugin : plugins) {
    for (const berth_target& target : plugin->targets()) {
      if (name != target.name) continue;
      if (found != nullptr) {
        return Failure{Error::kInvalidArgument, "target " + ir::quoted(name),
                       "is in two plug-ins, the second of which is " + plugin->place()};
      }
      found = &target;
    }
  }
  return found;
}

// "mine:0", "mine". Of a target on the host there is one, without an index.
Expected<Target> parse_plugin_target(const berth_target& from, std::string_view text) {
  const size_t colon = std::min(text.find(':'), text.size());
  if (colon == text.size()) return plugin_target(from, 0);
  // The index is that of any device.
  const auto device = ir::parse_device("sim" + std::string(text.substr(colon)), "target");
  if (from.device_type == 0 || !device.ok()) {
    return Failure{Error::kInvalidArgument, "target " + ir::quoted(text),
                   from.device_type == 0 ? "runs on the host, so it has no index: expected " + std::string(from.name)
                                         : "expected an index from 0 to 127"};
  }
  return plugin_target(from, device->index);
}

// What every target asks, as far as one node shows it.
Support common_support(const Target& target, const ir::Module& module, const ir::Method& method, const ir::Node& node) {
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
  if (node.op->has_effects) return Support::kEffects;
  // The kernel of an operator of one's own is the application's, for the program around nested ones; a target that
  // compiles may know what the operator does.
  if (node.op->own != nullptr && target.compile == nullptr) return Support::kOperator;
  return has_data_dependent_size(module, method, node) ? Support::kDataDependentSize : Support::kSupported;
}

Expected<Target> parse_target(std::string_view text, const std::vector<const Plugin*>& plugins,
                              Span<const Plugin* const> strangers) {
  const std::string lower = in_lower_case(text);
  BERTH_ASSIGN_OR_RETURN(const berth_target* from, find_plugin_target(lower.substr(0, lower.find(':')), plugins));
  if (from != nullptr) return parse_plugin_target(*from, lower);
  return Failure{Error::kInvalidArgument, "target " + ir::quoted(text),
                 "expected one of " + list_of_targets(strangers)};
}

}  // namespace

const char* to_string(Support support) {
  switch (support) {
    case Support::kSupported: return "takes";
    case Support::kOperator: return "operator";
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
    case Support::kRefused: return "refused";
    case Support::kEffects: return "effects";
    case Support::kLimit: return "limit";
    case Support::kTogether: return "together";
  }
  return "?";
}

Expected<Answer> supports(const Target& target, const ir::Module& module, const ir::Method& method,
                          const IdVector<ir::ValueId, int>& uses, ir::NodeId id) {
  const ir::Node& node = method.node(id);
  const Support support = common_support(target, module, method, node);
  if (support != Support::kSupported || target.takes == nullptr) return Answer{support, ""};
  return target.takes({module, method, uses, id, node, target.specs});
}

bool is_reserved_spec(std::string_view key) {
  if (key.rfind(kBerthSpec, 0) != 0) return key == kTargetDevice;
  return parse_bank_spec(std::string(key).c_str()).of == BankSpec::Of::kNothing;
}

std::vector<std::string> target_names(Span<const Plugin* const> plugins) {
  std::vector<std::string> names;
  for (const Plugin* plugin : with_own(plugins)) {
    for (const berth_target& target : plugin->targets()) {
      names.push_back(std::string(target.name) + (target.device_type == 0 ? "" : ":N"));
    }
  }
  return names;
}

Expected<bool> add_spec(std::string_view text, std::vector<Target>* targets) {
  const std::string place = "spec " + ir::quoted(text);
  const size_t equals = std::min(text.find('='), text.size());
  const size_t colon = text.substr(0, equals).rfind(':');
  if (equals == text.size() || colon == std::string_view::npos || colon == 0 || colon + 1 == equals) {
    return Failure{Error::kInvalidArgument, place, "expected TARGET:KEY=VALUE, such as mine:level=3"};
  }
  const std::string name = in_lower_case(text.substr(0, colon));
  const ir::CompileSpec spec = {std::string(text.substr(colon + 1, equals - colon - 1)),
                                std::string(text.substr(equals + 1))};
  if (is_reserved_spec(spec.key)) {
    return Failure{Error::kInvalidArgument, place, spec.key + " is set by the target itself"};
  }
  bool found = false;
  for (Target& target : *targets) {
    if (target.is_portable() || (target.name != name && target.name.substr(0, target.name.find(':')) != name)) continue;
    found = true;
    const auto same = [&](const ir::CompileSpec& other) { return other.key == spec.key; };
    if (std::any_of(target.specs.begin(), target.specs.end(), same)) {
      return Failure{Error::kInvalidArgument, place, "gives " + target.name + " the key " + spec.key + " twice"};
    }
    target.specs.push_back(spec);
  }
  return found;
}

Expected<std::vector<Target>> parse_targets(std::string_view list, Span<const Plugin* const> plugins) {
  const std::vector<const Plugin*> all = with_own(plugins);
  BERTH_TRY(check_names(all));
  std::vector<Target> targets;
  for (;;) {
    const size_t comma = std::min(list.find(','), list.size());
    BERTH_ASSIGN_OR_RETURN(Target target, parse_target(list.substr(0, comma), all, plugins));
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
