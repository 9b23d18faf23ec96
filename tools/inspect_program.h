// berth inspect of a program.
#pragma once

#include <string>
#include <vector>

#include "base/failure.h"
#include "tools/inspect_options.h"

namespace berth::tool {

/// `plugins` bring what the program needs to say how much memory it takes.
Expected<std::string> inspect_program(const InspectOptions& options, const std::vector<const Plugin*>& plugins);

}  // namespace berth::tool
