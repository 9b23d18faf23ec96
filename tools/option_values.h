// Values of options that are not there. CLI11 takes "" for a name, and what is behind "--output=" for its value.
#pragma once

#include <string>
#include <vector>

#include "tools/tool.h"

namespace berth::tool {

/// Has every option and argument of the commands of `app` refuse "".
void refuse_empty_values(CLI::App& app);

/// The first of `arguments`, those behind "--" apart, that is an option with a '=' and nothing behind it, without the
/// '='; empty where there is none.
std::string option_without_value(const std::vector<std::string>& arguments);

/// The same of arguments that are an option each: also one whose value would be the argument behind it.
std::string option_without_value(const std::vector<std::string>& arguments, const CLI::App& command);

}  // namespace berth::tool
