// berth: the command-line tool. Each subcommand is a file beside this one.
#include "tools/command_line.h"

int main(int argc, char** argv) { return berth::tool::run_tool(argc, argv); }
