// Measuring what work takes on a target, by compiling and running small programs (tools/tune_programs.h).
#pragma once

#include <string>
#include <vector>

#include "base/failure.h"
#include "plugin/load_plugin.h"
#include "tools/costs_file.h"

namespace berth::tool {

struct MeasureRequest {
  std::string target;  // "vulkan:0"
  int threads = 1;     // of the host
  std::vector<std::string> plugins;
};

/// Some seconds. NotSupported for a target that does not take the operators of the programs; failures of compiling,
/// loading and running.
Expected<TunedDevice> measure_costs(const MeasureRequest& request);

}  // namespace berth::tool
