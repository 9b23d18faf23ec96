// The file of measured costs: what `berth tune` writes and placement by cost is given.
//
//   {"berth_costs": 1, "devices": [{"target": "vulkan:0", "note": "llvmpipe, 2 threads", "call": 6.1e-05,
//     "operator": 4e-06, "to_device": {"seconds": 2e-06, "per_second": 9e9}, "from_device": {…},
//     "product": [{"work": 131072, "per_second": 2e10}, …], "convolution": […], "depthwise": […],
//     "elementwise": […], "reduction": […]}]}
//
// Times in seconds; work in operations or bytes, and as many a second (compiler/placement/device_costs.h). One entry a
// device; other members are allowed and are not read.
#pragma once

#include <string>
#include <vector>

#include "base/failure.h"
#include "base/json.h"
#include "compiler/placement/device_costs.h"

namespace berth::tool {

/// An entry of the file.
struct TunedDevice {
  placement::DeviceCosts costs;
  std::string note;  // how it was measured
};

/// $BERTH_COSTS; without it berth/costs.json in $XDG_CONFIG_HOME, or in .config of $HOME. Empty if none of them is set.
std::string default_costs_file();

Json costs_json(const std::vector<TunedDevice>& devices);
/// InvalidExternalData with `place` and what is wrong where, for text that costs_json() could not have made.
Expected<std::vector<TunedDevice>> parse_costs(const std::string& text, const std::string& place);

/// NotFound where there is no such file, with the command that makes one; failures as parse_costs().
Expected<std::vector<TunedDevice>> read_costs(const std::string& path);
/// Whole or not at all; makes the folder that the file is in.
Status write_costs(const std::vector<TunedDevice>& devices, const std::string& path);

/// Those of `more` in the place of what `devices` has of the same targets, others behind them.
void replace_costs(std::vector<TunedDevice> more, std::vector<TunedDevice>* devices);

}  // namespace berth::tool
