// What the arenas of a program need at given sizes of its inputs.
#pragma once

#include <string>
#include <vector>

#include "base/failure.h"
#include "base/span.h"
#include "plugin/load_plugin.h"
#include "tools/tool.h"

namespace berth::tool {

/// Adds "bytes_at_sizes" to each of the "arenas" of `methods`, objects as `berth inspect --json` has them. `shapes` are
/// --input-shape's: NAME=1x3x320x320, in each method that has such an input; sizes of other inputs follow from these
/// where they can, and count as the largest otherwise. Loads each method.
///
/// InvalidArgument for a name that no method has and sizes that a method does not take; also the errors of loading.
Status add_bytes_at_sizes(const std::string& path, const std::vector<std::string>& data,
                          Span<const Plugin* const> plugins, const std::vector<std::string>& shapes, Json& methods);

}  // namespace berth::tool
