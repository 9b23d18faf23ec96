// Berth's own targets: portable, cpu, cuda, vulkan and sim. Each is a file of this folder that is made of what a
// stranger has: this folder includes only headers that are installed, and nothing befriends it
// (tests/docs/own_targets.py).
#pragma once

#include "plugin/plugin.h"

namespace berth::targets::own {

/// The entry point of a plug-in with these five, for Plugin::adopt (plugin/load_plugin.h).
int32_t own_targets(const berth_host* host, berth_plugin* plugin);

}  // namespace berth::targets::own
