// --input-shape: the sizes of inputs that a model leaves open.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/failure.h"
#include "compiler/import/options.h"

namespace berth::tool {

/// Adds --input-shape.
void add_input_shapes(CLI::App& command, std::vector<std::string>& shapes);

/// What was given, into ImportOptions::input_shapes. InvalidArgument for what is not NAME=SHAPE.
Status parse_input_shapes(const std::vector<std::string>& shapes, ImportOptions& options);

}  // namespace berth::tool
