// --input-shape and --where: sizes of a model's inputs.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/failure.h"
#include "compiler/import/options.h"

namespace berth::tool {

/// The arguments of both.
struct SizeTexts {
  std::vector<std::string> shapes;
  std::vector<std::string> where;
};

void add_input_shapes(CLI::App& command, SizeTexts& texts);

/// The arguments as ImportOptions::input_shapes and where. InvalidArgument for a shape that is not NAME=SHAPE.
Status parse_input_shapes(const SizeTexts& texts, ImportOptions& options);

}  // namespace berth::tool
