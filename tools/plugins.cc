#include "tools/plugins.h"

namespace berth::tool {

void add_plugins(CLI::App& command, std::vector<std::string>& files) {
  command
      .add_option(
          "--plugin", files,
          "a shared library with targets, backends and devices (docs/devices.md) or operators (docs/operators.md) "
          "of your own; it runs with all your rights")
      ->allow_extra_args(false);
}

Expected<std::vector<const Plugin*>> open_plugins(const std::vector<std::string>& files,
                                                  std::vector<const Plugin*> plugins) {
  for (const std::string& file : files) {
    BERTH_ASSIGN_OR_RETURN(const Plugin* plugin, Plugin::open(file));
    plugins.push_back(plugin);
  }
  return plugins;
}

}  // namespace berth::tool
