#include "tools/auto_targets.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "compiler/method_settings.h"
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

bool is_auto(const std::pair<const std::string, MethodSettings>& method) { return method.second.target == kAuto; }

bool has_auto(const CompileOptions& options) {
  return options.target == kAuto || std::any_of(options.methods.begin(), options.methods.end(), is_auto);
}

Status replace_auto(const std::vector<const Plugin*>& plugins, const std::vector<TunedDevice>& costs,
                    CompileOptions* options) {
  if (!has_auto(*options)) return Done{};
  BERTH_ASSIGN_OR_RETURN(const std::string all, targets_of_machine(plugins, costs));
  if (options->target == kAuto) {
    options->target = all;
    options->by_cost = true;
    // What has targets of its own is placed as it would be.
    for (auto& entry : options->methods) {
      MethodSettings& method = entry.second;
      if (method.target.has_value() && !is_auto(entry) && !method.by_cost.has_value()) method.by_cost = false;
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

Expected<std::string> targets_of_machine(const std::vector<const Plugin*>& plugins,
                                         const std::vector<TunedDevice>& costs) {
  Machine machine;
  BERTH_TRY(machine.add_plugins(plugins));
  const std::vector<std::string> names = targets::target_names(plugins);
  std::string list;
  for (const DeviceKind& kind : machine.kinds()) {
    const std::string name = to_string(kind.type);
    const bool is_target = std::find(names.begin(), names.end(), name + ":N") != names.end();
    if (kind.type == DeviceType::kSim || !is_target) continue;
    for (int index = 0; index < kind.count - kind.processors; ++index) {
      const std::string target = name + ":" + std::to_string(index);
      const auto is_it = [&](const TunedDevice& device) { return device.costs.target == target; };
      const bool measured = std::any_of(costs.begin(), costs.end(), is_it);
      if (measured || placement::estimated_costs(name) != nullptr) list += target + ",";
    }
  }
  return list + "cpu";
}

Status add_costs(const std::string& costs, const std::vector<const Plugin*>& plugins, CompileOptions* options) {
  const bool given = !costs.empty() && costs != kNone;
  const bool overlaps = berth::overlaps(*options);
  if (given && !overlaps && !is_placed_by_cost(*options) && !has_auto(*options)) options->by_cost = true;
  if (!overlaps && !is_placed_by_cost(*options) && !has_auto(*options)) return Done{};
  const std::string file = given ? costs : costs == kNone ? "" : default_costs_file();
  std::error_code unknown;
  std::vector<TunedDevice> devices;
  if (given || (!file.empty() && std::filesystem::exists(file, unknown))) {
    BERTH_ASSIGN_OR_RETURN(devices, read_costs(file));
  }
  for (const TunedDevice& device : devices) options->costs.push_back(device.costs);
  return replace_auto(plugins, devices, options);
}

}  // namespace berth::tool
