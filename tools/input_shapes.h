// --input-shape: sizes of a model's inputs.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/failure.h"
#include "compiler/import/options.h"

namespace berth::tool {

/// Adds --input-shape.
void add_input_shapes(CLI::App& command, std::vector<std::string>& shapes);

/// Parses the arguments for ImportOptions::input_shapes. InvalidArgument for other text than NAME=SHAPE.
Status parse_input_shapes(const std::vector<std::string>& shapes, ImportOptions& options);

}  // namespace berth::tool
