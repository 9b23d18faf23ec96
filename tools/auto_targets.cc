#include "tools/auto_targets.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "compiler/targets/target.h"
#include "tools/costs_file.h"
#include "tools/machine.h"

namespace berth::tool {
namespace {

constexpr char kAuto[] = "auto";
constexpr char kNone[] = "none";

bool is_placed_by_cost(const CompileOptions& options) {
  const auto by_cost = [](const auto& method) { return method.second.by_cost.value_or(false); };
  return options.by_cost || std::any_of(options.methods.begin(), options.methods.end(), by_cost);
}

Status replace_auto(const std::vector<const Plugin*>& plugins, CompileOptions* options) {
  const auto is_auto = [](const auto& method) { return method.second.target == kAuto; };
  const bool any = std::any_of(options->methods.begin(), options->methods.end(), is_auto);
  if (options->target != kAuto && !any) return Done{};
  BERTH_ASSIGN_OR_RETURN(const std::string all, targets_of_machine(plugins));
  if (options->target == kAuto) {
    options->target = all;
    options->by_cost = true;
    // What has targets of its own is placed as it would be.
    for (auto& [name, method] : options->methods) {
      if (method.target.has_value() && !is_auto(std::make_pair(name, method)) && !method.by_cost.has_value()) {
        method.by_cost = false;
      }
    }
  }
  for (auto& [name, method] : options->methods) {
    if (method.target != kAuto) continue;
    method.target = all;
    method.by_cost = true;
  }
  return Done{};
}

}  // namespace

Expected<std::string> targets_of_machine(const std::vector<const Plugin*>& plugins) {
  Machine machine;
  BERTH_TRY(machine.add_plugins(plugins));
  const std::vector<std::string> names = targets::target_names(plugins);
  std::string list;
  for (const DeviceKind& kind : machine.kinds()) {
    const std::string name = to_string(kind.type);
    const bool is_target = std::find(names.begin(), names.end(), name + ":N") != names.end();
    if (kind.type == DeviceType::kSim || !is_target) continue;
    for (int index = 0; index < kind.count; ++index) list += name + ":" + std::to_string(index) + ",";
  }
  return list + "cpu";
}

Status add_costs(const std::string& costs, const std::vector<const Plugin*>& plugins, CompileOptions* options) {
  BERTH_TRY(replace_auto(plugins, options));
  const bool given = !costs.empty() && costs != kNone;
  if (given && !is_placed_by_cost(*options)) options->by_cost = true;
  if (!is_placed_by_cost(*options) || costs == kNone) return Done{};
  const std::string file = given ? costs : default_costs_file();
  std::error_code unknown;
  if (!given && (file.empty() || !std::filesystem::exists(file, unknown))) return Done{};
  BERTH_ASSIGN_OR_RETURN(const std::vector<TunedDevice> devices, read_costs(file));
  for (const TunedDevice& device : devices) options->costs.push_back(device.costs);
  return Done{};
}

}  // namespace berth::tool
