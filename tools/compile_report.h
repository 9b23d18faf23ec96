// What `berth compile` says about a program that it has made, as text; reports.h has the same as JSON.
#pragma once

#include <string>

#include "compiler/compile.h"

namespace berth::tool {

/// A line for each arena, delegate and so on. `output`: what the program is called.
std::string compile_text(const std::string& output, const CompileReport& report);

}  // namespace berth::tool
