#include "tools/input_shapes.h"

namespace berth::tool {

void add_input_shapes(CLI::App& command, SizeTexts& texts) {
  command
      .add_option("--input-shape", texts.shapes,
                  "NAME=1x3x224x224; a dimension may be a range, 1..8, or a name, 1x3xHxW")
      ->allow_extra_args(false);
  command
      .add_option(
          "--where", texts.where,
          "what holds for sizes that have names: T=1..512, 'H%32==0', 'W==2*H', 'T+P<=512'. The compiler relies "
          "on it, and a run with other sizes is an error")
      ->allow_extra_args(false);
}

// A name may contain '=', a shape cannot.
Status parse_input_shapes(const SizeTexts& texts, ImportOptions& options) {
  options.where = texts.where;
  for (const std::string& text : texts.shapes) {
    const size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      return Failure{Error::kInvalidArgument, "--input-shape " + text, "expected NAME=1x3x224x224"};
    }
    options.input_shapes.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return Done{};
}

}  // namespace berth::tool
