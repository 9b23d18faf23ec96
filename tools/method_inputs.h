// The inputs of a method that a subcommand runs: files of arrays, or random numbers.
#pragma once

#include <string>
#include <vector>

#include "tools/load_method.h"
#include "tools/npy.h"

namespace berth::tool {

/// The arrays for all inputs, in order: read from files, or random with a fixed seed for those not given. Sizes and
/// types are checked when they are set.
Expected<std::vector<Array>> gather_inputs(const LoadRequest& request, Method& method);

/// Sets all inputs, copying them to their devices first. `arrays` may be brought into another dimension order, and
/// lives until the last run.
Status set_inputs(LoadedMethod& loaded, std::vector<Array>& arrays);

/// All files that were read: the program, its data files, the inputs.
std::vector<std::string> files_read(const LoadRequest& request, const LoadedMethod& loaded);

}  // namespace berth::tool
