// The option --plugin.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/failure.h"
#include "plugin/load_plugin.h"

namespace berth::tool {

/// Adds --plugin FILE, which may stand several times.
void add_plugins(CLI::App& command, std::vector<std::string>& files);

/// Loads them, in order; their device types have names then.
Expected<std::vector<const Plugin*>> open_plugins(const std::vector<std::string>& files,
                                                  std::vector<const Plugin*> plugins = {});

}  // namespace berth::tool
