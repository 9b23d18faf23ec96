// The command line of `berth`: its subcommands, and what is said to a command line that is wrong.
#pragma once

namespace berth::tool {

/// Runs the subcommand that the arguments name, and gives its exit code (tools/exit_code.h).
int run_command_line(int argc, char** argv);

/// The whole tool: the same, where output that could not be written and an exception are failures with a sentence.
int run_tool(int argc, char** argv);

}  // namespace berth::tool
