// berth report: writes the memory plan of a program as an HTML page.
#include <fmt/format.h>

#include <memory>

#include "base/output_file.h"
#include "tools/names.h"
#include "tools/program_file.h"
#include "tools/report_page.h"
#include "tools/timeline.h"

namespace berth::tool {
namespace {

struct ReportOptions {
  std::string file;
  std::string other;
  std::string output;
};

Json value_json(const TimelineValue& value) {
  return {{"index", value.index}, {"name", value.name},         {"node", value.node}, {"type", value.type},
          {"role", value.role},   {"relation", value.relation}, {"base", value.base}, {"offset", value.offset},
          {"bytes", value.bytes}, {"first", value.first},       {"last", value.last}};
}

Json arena_json(const TimelineArena& arena) {
  Json json = {{"id", arena.id},         {"device", device_name(arena.device)}, {"bytes", arena.bytes},
               {"proven", arena.proven}, {"peak_step", arena.peak_step},        {"peak_bytes", arena.peak_bytes}};
  json["lower_bound"] = arena.lower_bound < 0 ? Json(nullptr) : Json(arena.lower_bound);
  json["values"] = Json::array();
  for (const TimelineValue& value : arena.values) json["values"].push_back(value_json(value));
  return json;
}

Expected<Json> file_json(const std::string& path) {
  BERTH_ASSIGN_OR_RETURN(const ProgramFile program, open_program(path));
  Json json = {{"path", path}, {"bytes", program.file->bytes().size()}, {"methods", Json::array()}};
  for (size_t m = 0; m < program.view.method_count(); ++m) {
    const Timeline timeline = timeline_of(program.view, m);
    Json method = {{"name", timeline.method}, {"steps", timeline.steps}, {"arenas", Json::array()}};
    for (const TimelineArena& arena : timeline.arenas) method["arenas"].push_back(arena_json(arena));
    json["methods"].push_back(std::move(method));
  }
  return json;
}

Status run_report(const ReportOptions& options) {
  BERTH_TRY(keep_files({options.file, options.other}, options.output, "--output " + options.output));
  Json data = {{"files", Json::array()}};
  BERTH_ASSIGN_OR_RETURN(Json first, file_json(options.file));
  data["files"].push_back(std::move(first));
  if (!options.other.empty()) {
    BERTH_ASSIGN_OR_RETURN(Json second, file_json(options.other));
    data["files"].push_back(std::move(second));
  }
  const std::string page = report_page(data);
  const auto write = [&](OutputFile& file) { return file.write(page.data(), page.size()); };
  BERTH_TRY(write_whole_file(options.output, write));
  fmt::print("{}: {}, open it in a browser\n", options.output, bytes_text(static_cast<int64_t>(page.size())));
  return Done{};
}

}  // namespace

void add_report(CLI::App& app, Session& session) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand("report", "Draw the memory plan of a program over time, or compare two");
  command->add_option("FILE", options->file, "a .pte program")->required();
  command->add_option("OTHER", options->other, "another one, to compare with");
  command->add_option("-o,--output", options->output, "the page to write, such as plan.html")->required();
  command->footer("example: berth report model.pte -o plan.html");
  command->callback([options, &session] {
    auto done = run_report(*options);
    if (!done.ok()) session.exit_code = report(done.error());
  });
}

}  // namespace berth::tool
