// berth: the command-line tool. Each subcommand is a file beside this one.
#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "base/version.h"
#include "tools/tool.h"

namespace berth::tool {
namespace {

// What went wrong with the command line. An option that nobody knows comes first: what it was meant to say may be what
// is missing.
std::string usage_error(const CLI::App* app, const CLI::Error& error) {
  std::string command = "berth";
  for (const CLI::App* sub : app->get_subcommands()) command += " " + sub->get_name();
  std::string message = error.what();
  for (const std::string& unknown : app->remaining(true)) {
    const bool option = unknown.rfind('-', 0) == 0;
    if (!option && command != "berth") continue;
    message = fmt::format("there is no {} {}", option ? "option" : "command", unknown);
    break;
  }
  return fmt::format("berth: {}\nRun with --help for how it is used ({} --help).\n", message, command);
}

int run(int argc, char** argv) {
  CLI::App app{"Berth compiles neural networks so that every byte of memory has its place before they run.", "berth"};
  app.set_version_flag("--version", "berth " BERTH_VERSION);
  app.require_subcommand(1);
  Session session;
  add_compile(app, session);
  add_run(app, session);
  add_inspect(app, session);
  add_verify(app, session);
  add_plan(app, session);
  add_replan(app, session);
  add_report(app, session);
  add_bench(app, session);
  add_devices(app, session);
  app.failure_message(usage_error);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kYourFault;
  }
  return session.exit_code;
}

}  // namespace
}  // namespace berth::tool

int main(int argc, char** argv) {
  try {
    return berth::tool::run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("berth: out of memory\n", stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "berth: %s\n", error.what());
  }
  return berth::tool::kOurFault;
}
