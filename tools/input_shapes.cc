#include "tools/input_shapes.h"

namespace berth::tool {

void add_input_shapes(CLI::App& command, std::vector<std::string>& shapes) {
  command.add_option("--input-shape", shapes, "NAME=1x3x224x224; a dimension may be a range, 1..8")
      ->allow_extra_args(false);
}

// A name may contain '=', a shape cannot.
Status parse_input_shapes(const std::vector<std::string>& shapes, ImportOptions& options) {
  for (const std::string& text : shapes) {
    const size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      return Failure{Error::kInvalidArgument, "--input-shape " + text, "expected NAME=1x3x224x224"};
    }
    options.input_shapes.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return Done{};
}

}  // namespace berth::tool
