// What `berth inspect` was asked, for all kinds of files.
#pragma once

#include <string>
#include <vector>

#include "plugin/load_plugin.h"
#include "tools/input_shapes.h"

namespace berth::tool {

struct InspectOptions {
  std::string file;
  bool json = false;
  bool values = false;
  bool instructions = false;
  bool plan = false;
  bool ir = false;
  SizeTexts sizes;
  std::vector<std::string> data;
  std::vector<std::string> plugins;
  std::vector<const Plugin*> more_plugins;
};

}  // namespace berth::tool
