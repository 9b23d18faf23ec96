// What `--target auto`, `--by-cost` and `--costs` say to the compiler.
#pragma once

#include <string>
#include <vector>

#include "compiler/compile.h"
#include "plugin/load_plugin.h"
#include "tools/costs_file.h"

namespace berth::tool {

/// The devices of this machine, and of the plug-ins, that targets are for, as a list for `--target`:
/// "cuda:0,vulkan:0,cpu". The simulated device is not one, nor is a device that is the host's processor under another
/// name (Vulkan's lavapipe), nor one of a kind without an estimate that `costs` does not have; cpu always is, and the
/// last.
Expected<std::string> targets_of_machine(const std::vector<const Plugin*>& plugins,
                                         const std::vector<TunedDevice>& costs);

/// Puts targets_of_machine() in the place of "auto", which is placed by cost; and costs into the options where
/// something is placed by cost: those of the file `costs`, "none" for estimates alone, empty for default_costs_file()
/// if it exists. With a file everything is placed by cost if no method is otherwise. Failures as read_costs().
Status add_costs(const std::string& costs, const std::vector<const Plugin*>& plugins, CompileOptions* options);

}  // namespace berth::tool
