// How much memory the methods of a program take beside their arenas.
#pragma once

#include <string>

#include "tools/tool.h"

namespace berth::tool {

/// Adds "method_bytes" and "temp_bytes", on one thread, to each of `methods` (objects that have a "name"), with the
/// kernels and backends of this build; nothing where it has not got them all.
void add_memory_needed(const std::string& path, Json& methods);

}  // namespace berth::tool
