// berth: the command-line tool. Each subcommand is a file beside this one.
#include <fmt/format.h>

#include "base/version.h"
#include "tools/tool.h"

int main(int argc, char** argv) {
  using namespace berth::tool;
  CLI::App app{"Berth compiles neural networks so that every byte of memory has its place before they run."};
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
  app.failure_message([](const CLI::App* failed, const CLI::Error& error) {
    std::string name = failed->get_name();
    for (const CLI::App* sub : failed->get_subcommands()) name = "berth " + sub->get_name();
    return fmt::format("berth: {}\nRun with --help for how it is used{}.\n", error.what(),
                       name.empty() ? std::string() : " (" + name + " --help)");
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kYourFault;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "berth: out of memory\n");
    return kOurFault;
  }
  return session.exit_code;
}
