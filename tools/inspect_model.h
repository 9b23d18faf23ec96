// berth inspect of a model: what the compiler reads it as.
#pragma once

#include <string>
#include <vector>

#include "base/failure.h"
#include "tools/inspect_options.h"

namespace berth::tool {

/// `plugins` bring operators.
Expected<std::string> inspect_model(const InspectOptions& options, const std::vector<const Plugin*>& plugins);

}  // namespace berth::tool
