// The subcommands that make texts and programs, for the C API: what they are told is what the command line is told.
#pragma once

#include <string>
#include <vector>

#include "base/failure.h"
#include "plugin/load_plugin.h"

namespace berth::tool {

struct SubcommandResult {
  /// What the tool would have printed.
  std::string text;
  /// Of `compile`, `quantize` and `replan` without --output.
  std::vector<uint8_t> program;
};

/// Runs `compile`, `inspect`, `quantize`, `verify` or `replan` on these files. Each of `options` is "--option=value",
/// or "--option" where it takes none; `plugins` are beside those of --plugin. InvalidArgument for options that the
/// subcommand does not have, and for those without the value that they take; its own failures.
Expected<SubcommandResult> run_subcommand(const std::string& name, const std::vector<std::string>& options,
                                          const std::vector<std::string>& files,
                                          const std::vector<const Plugin*>& plugins);

}  // namespace berth::tool
