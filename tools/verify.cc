// berth verify: is a program file sound? Structure first, then the memory plan.
#include "format/verify.h"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "base/mapped_file.h"
#include "format/program_view.h"
#include "format/verify_plan.h"
#include "tools/program_file.h"
#include "tools/tool.h"

namespace berth::tool {
namespace {

struct VerifyOptions {
  std::string file;
  bool json = false;
};

Status run_verify(const VerifyOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const ProgramFile program, open_program(options.file));
  BERTH_ASSIGN_OR_RETURN(const PlanCheck plan, check_plan(program));
  size_t values = 0;
  size_t instructions = 0;
  for (size_t m = 0; m < program.view.method_count(); ++m) {
    values += format::length(program.view.method(m).values());
    for (const auto* chain : *program.view.method(m).chains()) instructions += format::length(chain->instructions());
  }
  if (options.json) {
    fmt::print("{}\n", Json{{"sound", true},
                            {"methods", program.view.method_count()},
                            {"values", values},
                            {"instructions", instructions},
                            {"relations", plan.inferred ? "inferred" : "recorded"}}
                           .dump());
    return Done{};
  }
  fmt::print(
      "{}: sound. {} methods, {} values, {} instructions: every index, offset and size was checked, and nothing\n",
      options.file, program.view.method_count(), values, instructions);
  fmt::print("that is still read is overwritten{}.\n",
             plan.inferred ? " (which values are views of which was inferred: the file does not say)" : "");
  return Done{};
}

}  // namespace

void add_verify(CLI::App& app, Session& session) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command = app.add_subcommand("verify", "Check every index, offset, size and overlap of a program");
  command->add_option("FILE", options->file, "a .pte program")->required();
  command->add_flag("--json", options->json, "one JSON object instead of a sentence");
  command->footer("exit code 0 only when the program is sound; example: berth verify model.pte");
  command->callback([options, &session] {
    auto done = run_verify(*options);
    if (!done.ok()) session.exit_code = report(done.error());
  });
}

}  // namespace berth::tool
