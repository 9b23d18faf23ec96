#include "tools/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iterator>
#include <new>
#include <string>
#include <vector>

#include "base/version.h"
#include "tools/option_values.h"
#include "tools/tool.h"

namespace berth::tool {
namespace {

struct Command {
  const char* name;
  void (*add)(CLI::App& app, Session& session);
};

constexpr Command kCommands[] = {
    {"compile", add_compile}, {"run", add_run},       {"inspect", add_inspect}, {"verify", add_verify},
    {"plan", add_plan},       {"replan", add_replan}, {"report", add_report},   {"quantize", add_quantize},
    {"compare", add_compare}, {"bench", add_bench},   {"devices", add_devices}, {"tune", add_tune},
};

// All commands, or the only one that a command line can call: options of the others take half a millisecond to
// describe.
void add_commands(int argc, char** argv, CLI::App& app, Session& session) {
  const std::string first = argc > 1 ? argv[1] : "";
  const auto is_first = [&](const Command& command) { return first == command.name; };
  const bool is_called = std::any_of(std::begin(kCommands), std::end(kCommands), is_first);
  for (const Command& command : kCommands) {
    if (!is_called || is_first(command)) command.add(app, session);
  }
}

// Describes an error in the command line. Unknown options come first, since a misspelt option may be the missing one.
std::string usage_error(const CLI::App* app, const CLI::Error& error) {
  std::string command = "berth";
  for (const CLI::App* sub : app->get_subcommands()) command += " " + sub->get_name();
  std::string message = error.what();
  if (error.get_name() == "RequiredError" && command == "berth") {
    message = "which command?";
    for (const CLI::App* sub : app->get_subcommands([](const CLI::App*) { return true; })) {
      message += " " + sub->get_name();
    }
  }
  for (const std::string& unknown : app->remaining(true)) {
    const bool option = unknown.rfind('-', 0) == 0;
    if (!option && command != "berth") continue;
    message = fmt::format("there is no {} {}", option ? "option" : "command", unknown);
    break;
  }
  return fmt::format("berth: {}\nRun {} --help to see the options.\n", shortened(message), command);
}

// `berth help compile` is `berth compile --help`.
std::vector<std::string> arguments_of(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> list(argv + std::min(argc, 1), argv + argc);
  if (list.empty() || list[0] != "help") return list;
  list.erase(list.begin());
  list.resize(std::min(list.size(), size_t{1}));
  const auto named = [&](const CLI::App* sub) { return !list.empty() && sub->get_name() == list[0]; };
  if (list.empty() || !app.get_subcommands(named).empty()) list.push_back("--help");
  return list;
}

// Output that could not be written, for example to a full disk, is an error.
int after_printing(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  std::fprintf(stderr, "berth: standard output: cannot be written: %s\n", std::strerror(errno));
  return exit_code == kDone ? kYourFault : exit_code;
}

}  // namespace

int run_command_line(int argc, char** argv) {
  CLI::App app{"Berth compiles neural networks to programs whose memory is planned to the byte.", "berth"};
  app.set_version_flag("--version", "berth " BERTH_VERSION);
  app.require_subcommand(1);
  Session session;
  add_commands(argc, argv, app, session);
  app.failure_message(usage_error);
  refuse_empty_values(app);
  std::vector<std::string> arguments = arguments_of(app, argc, argv);
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
  try {
    const std::string cut = option_without_value({argv + std::min(argc, 1), argv + argc});
    if (!cut.empty()) throw CLI::ValidationError(shortened(cut), "expected a value behind the '='");
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kYourFault;
  }
  return session.exit_code;
}

int run_tool(int argc, char** argv) {
  try {
    return after_printing(run_command_line(argc, argv));
  } catch (const std::bad_alloc&) {
    std::fputs("berth: out of memory\n", stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "berth: %s\n", error.what());
  }
  return kOurFault;
}

}  // namespace berth::tool
