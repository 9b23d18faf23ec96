// What subcommands say with --json, and the page of `berth report`, for callers that have no file: the Python package.
// docs/command_line.md has the keys.
#pragma once

#include <string>
#include <vector>

#include "compiler/compile.h"
#include "format/program_view.h"
#include "tools/tool.h"

namespace berth::tool {

/// As `berth compile --json`.
Json compile_json(const CompileReport& report);

/// A method as `berth inspect --json` has it, without the memory besides its arenas. REQUIRES: the file was verified.
Json method_json(const format::ProgramView& program, size_t method);

/// The page of `berth report`: of a program, or of two to compare. `names`: what the page calls them. REQUIRES: the
/// files were verified.
std::string report_html(const std::vector<format::ProgramView>& programs, const std::vector<std::string>& names);

}  // namespace berth::tool
