// berth verify: is a program file sound? Structure first, then the memory plan.
#include "format/verify.h"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "base/mapped_file.h"
#include "format/plan_check/verify_plan.h"
#include "format/program_view.h"
#include "tools/data_files.h"
#include "tools/plugins.h"
#include "tools/program_file.h"
#include "tools/tool.h"

namespace berth::tool {
namespace {

struct VerifyOptions {
  std::string file;
  std::vector<std::string> data;
  std::vector<std::string> plugins;
  std::vector<const Plugin*> more_plugins;
  bool json = false;
};

Expected<std::string> verify_data(const VerifyOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const ExternalData data, ExternalData::open({options.file}));
  if (options.json) return Json({{"sound", true}, {"blobs", data.blobs().size()}}).text() + "\n";
  return fmt::format("{}: sound. {} tensors and blobs: every index, offset and size was checked.\n", options.file,
                     data.blobs().size());
}

Expected<std::string> run_verify(const VerifyOptions& options) {
  BERTH_TRY(open_plugins(options.plugins, options.more_plugins));
  BERTH_ASSIGN_OR_RETURN(const auto file, MappedFile::open(options.file));
  if (looks_like_data_file(file->bytes())) return verify_data(options);
  BERTH_ASSIGN_OR_RETURN(const ProgramFile program, open_program(options.file));
  BERTH_ASSIGN_OR_RETURN(const PlanCheck plan, check_plan(program));
  BERTH_ASSIGN_OR_RETURN(const PayloadCheck payloads, check_payloads(program));
  BERTH_ASSIGN_OR_RETURN(const ExternalData data, open_external_data(program.view, options.file, options.data));
  if (!data.empty()) BERTH_TRY(check_external_data(data, program.view, options.file));
  const size_t outside = external_uses(program.view).size();
  size_t values = 0;
  size_t instructions = 0;
  for (size_t m = 0; m < program.view.method_count(); ++m) {
    values += format::length(program.view.method(m).values());
    for (const auto* chain : *program.view.method(m).chains()) instructions += format::length(chain->instructions());
  }
  if (options.json) {
    return Json({{"sound", true},
                 {"methods", program.view.method_count()},
                 {"values", values},
                 {"instructions", instructions},
                 {"delegates", payloads.opened},
                 {"delegates_unchecked", payloads.unopened},
                 {"external", outside},
                 {"external_checked", !data.empty()},
                 {"relations", plan.inferred ? "inferred" : "recorded"}})
               .text() +
           "\n";
  }
  std::string text;
  text += fmt::format("{}: sound. {}, {}, {}: every index, offset and size was checked, and nothing\n", options.file,
                      counted(static_cast<int64_t>(program.view.method_count()), "method"),
                      counted(static_cast<int64_t>(values), "value"),
                      counted(static_cast<int64_t>(instructions), "instruction"));
  text += fmt::format("that is still read is overwritten{}.\n",
                      plan.inferred ? " (which values are views of which was inferred: the file does not say)" : "");
  if (payloads.opened > 0) {
    text += fmt::format("So were the nested programs of {}.\n", counted(payloads.opened, "delegate"));
  }
  if (payloads.unopened > 0) {
    text += fmt::format("What {} of {} {} was not checked: only that backend can read it.\n",
                        counted(payloads.unopened, "delegate"), fmt::join(payloads.names, ", "),
                        payloads.unopened == 1 ? "has for a payload" : "have for payloads");
  }
  if (outside > 0) {
    text += fmt::format("{} of its tensors {} in data files (.ptd){}.\n", outside, outside == 1 ? "lies" : "lie",
                        data.empty() ? "; give them with --data to have these checked too" : ", which have them all");
  }
  return text;
}

}  // namespace

void add_verify(CLI::App& app, Session& session) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command = app.add_subcommand("verify", "Check every index, offset, size and overlap of a program");
  command->add_option("FILE", options->file, "a .pte program, or a .ptd data file")->required();
  add_data(*command, options->data);
  add_plugins(*command, options->plugins);
  command->add_flag("--json", options->json, "one JSON object instead of a sentence");
  command->footer("exit code 0 only when the program is sound; example: berth verify model.pte");
  command->callback([options, &session] {
    options->more_plugins = session.plugins;
    session.finish(run_verify(*options));
  });
}

}  // namespace berth::tool
