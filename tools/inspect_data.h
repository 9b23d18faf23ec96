// berth inspect of a data file (.ptd).
#pragma once

#include <string>

#include "base/failure.h"
#include "tools/inspect_options.h"

namespace berth::tool {

Expected<std::string> inspect_data(const InspectOptions& options);

}  // namespace berth::tool
