// The memory that the methods of a program need besides their arenas.
#pragma once

#include <string>

#include "base/span.h"
#include "plugin/load_plugin.h"
#include "tools/tool.h"

namespace berth::tool {

/// Adds "method_bytes" and "temp_bytes", for one thread, to each of `methods` (objects with a "name"), if this build
/// and `plugins` have all kernels and backends that they need.
void add_memory_needed(const std::string& path, Span<const Plugin* const> plugins, Json& methods);

}  // namespace berth::tool
