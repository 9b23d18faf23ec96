#include "compiler/method_settings.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "compiler/ir/text.h"
#include "compiler/passes/state_ports.h"

namespace berth {

CompileOptions options_of(const CompileOptions& options, const std::string& method) {
  CompileOptions own = options;
  const auto found = options.methods.find(method);
  if (found == options.methods.end()) return own;
  const auto set = [](auto& value, const auto& of_method) {
    if (of_method.has_value()) value = *of_method;
  };
  const MethodSettings& settings = found->second;
  set(own.target, settings.target);
  set(own.split, settings.split);
  set(own.by_cost, settings.by_cost);
  set(own.banks, settings.banks);
  set(own.planner, settings.planner);
  set(own.alignment, settings.alignment);
  set(own.in_place, settings.in_place);
  set(own.in_place_operators, settings.in_place_operators);
  set(own.alias, settings.alias);
  set(own.reorder, settings.reorder);
  set(own.overlap, settings.overlap);
  return own;
}

bool overlaps(const CompileOptions& options) {
  const auto does = [](const auto& method) { return !method.second.overlap.value_or("").empty(); };
  return !options.overlap.empty() || std::any_of(options.methods.begin(), options.methods.end(), does);
}

Status check_method_names(const ir::Module& module, const CompileOptions& options) {
  for (const auto& entry : options.methods) {
    if (module.find_method(entry.first) != nullptr) continue;
    std::string names;
    for (const ir::Method& method : module.methods) names += (names.empty() ? "" : ", ") + method.name;
    return Failure{Error::kInvalidArgument, "settings of method " + ir::quoted(entry.first),
                   "there is no such method; there are: " + names};
  }
  return Done{};
}

Status make_states(ir::Module& module, const CompileOptions& options) {
  std::vector<passes::StatePorts> pairs;
  const auto add = [&](const std::vector<std::string>& texts, const std::string& method) -> Status {
    for (const std::string& text : texts) {
      BERTH_ASSIGN_OR_RETURN(passes::StatePorts pair, passes::parse_state_ports(text));
      pair.method = method;
      pairs.push_back(std::move(pair));
    }
    return Done{};
  };
  for (const auto& [method, settings] : options.methods) BERTH_TRY(add(settings.states, method));
  BERTH_TRY(add(options.states, ""));
  return passes::make_states(module, pairs);
}

}  // namespace berth
