// berth inspect: shows the contents of a file.
#include <memory>

#include "base/mapped_file.h"
#include "compiler/compile.h"
#include "tools/data_files.h"
#include "tools/etdump.h"
#include "tools/inspect_data.h"
#include "tools/inspect_model.h"
#include "tools/inspect_program.h"
#include "tools/inspect_runs.h"
#include "tools/plugins.h"
#include "tools/program_file.h"
#include "tools/tool.h"

namespace berth::tool {
namespace {

Expected<std::string> run_inspect(const InspectOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<const Plugin*> plugins, open_plugins(options.plugins, options.more_plugins));
  BERTH_ASSIGN_OR_RETURN(const auto file, MappedFile::open(options.file));
  if (looks_like_data_file(file->bytes())) return inspect_data(options);
  if (looks_like_run_record(file->bytes())) return inspect_runs(options.file, *file, options.json);
  return is_program(*file) && !options.ir ? inspect_program(options, plugins) : inspect_model(options, plugins);
}

}  // namespace

void add_inspect(CLI::App& app, Session& session) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command =
      app.add_subcommand("inspect", "Show the contents of a program, a model, or another file of theirs");
  command
      ->add_option("FILE", options->file,
                   "a program or a model, an " + model_extensions(" or ") +
                       " file; a .ptd data file; or a record of runs, .etdp")
      ->required();
  add_input_shapes(*command, options->sizes);
  add_data(*command, options->data);
  add_plugins(*command, options->plugins);
  command->add_flag("--json", options->json, "one JSON object instead of text");
  command->add_flag("--values", options->values, "every value with its type and offset");
  command->add_flag("--instructions", options->instructions, "every instruction");
  command->add_flag("--plan", options->plan, "draw each arena: time to the right, memory upward");
  command->add_flag("--ir", options->ir, "the graph that the compiler makes of it; also for programs");
  command->footer("example: berth inspect model.pte --plan");
  command->callback([options, &session] {
    options->more_plugins = session.plugins;
    session.finish(run_inspect(*options));
  });
}

}  // namespace berth::tool
