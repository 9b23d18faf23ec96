// berth report: draws the memory plan of a program as an HTML page, or says how those of two programs differ.
#include <fmt/format.h>

#include <memory>

#include "base/output_file.h"
#include "tools/names.h"
#include "tools/plan_changes_report.h"
#include "tools/program_file.h"
#include "tools/report_page.h"
#include "tools/reports.h"
#include "tools/timeline.h"

namespace berth::tool {
namespace {

struct ReportOptions {
  std::string file;
  std::string other;
  std::string output;
  bool json = false;
  bool all = false;
};

// How many changes of a method are listed without --all.
constexpr size_t kLargestChanges = 20;

Json arena_json(const TimelineArena& arena) {
  Json json = {{"id", arena.id},         {"device", device_name(arena.device)}, {"bytes", arena.bytes},
               {"proven", arena.proven}, {"peak_step", arena.peak_step},        {"peak_bytes", arena.peak_bytes}};
  json["lower_bound"] = arena.lower_bound < 0 ? Json(nullptr) : Json(arena.lower_bound);
  json["values"] = Json::array();
  for (const TimelineValue& value : arena.values) json["values"].push_back(value_json(value));
  return json;
}

Json file_json(const std::string& path, const format::ProgramView& program, const std::vector<Timeline>& timelines) {
  Json json = {{"path", path}, {"bytes", program.file().size()}, {"methods", Json::array()}};
  for (const Timeline& timeline : timelines) {
    Json method = {{"name", timeline.method}, {"steps", timeline.steps}, {"arenas", Json::array()}};
    for (const TimelineArena& arena : timeline.arenas) method["arenas"].push_back(arena_json(arena));
    json["methods"].push_back(std::move(method));
  }
  return json;
}

std::vector<Timeline> timelines_of(const format::ProgramView& program) {
  std::vector<Timeline> timelines;
  for (size_t m = 0; m < program.method_count(); ++m) timelines.push_back(timeline_of(program, m));
  return timelines;
}

const Timeline* find_method(const std::vector<Timeline>& timelines, const std::string& name) {
  for (const Timeline& timeline : timelines) {
    if (timeline.method == name) return &timeline;
  }
  return nullptr;
}

std::string names_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

Expected<ProgramChanges> compare(const ReportOptions& options, const std::vector<Timeline>& first,
                                 const std::vector<Timeline>& second) {
  ProgramChanges changes;
  changes.first = options.file;
  changes.second = options.other;
  for (const Timeline& timeline : first) {
    const Timeline* other = find_method(second, timeline.method);
    if (other == nullptr) {
      changes.only_first.push_back(timeline.method);
    } else {
      changes.methods.push_back(changes_between(timeline, *other));
    }
  }
  for (const Timeline& timeline : second) {
    if (find_method(first, timeline.method) == nullptr) changes.only_second.push_back(timeline.method);
  }
  if (!changes.methods.empty() || changes.same()) return changes;
  return Failure{Error::kInvalidArgument, options.other,
                 fmt::format("no method is in both programs; {} has {}, the other has {}", options.file,
                             names_text(changes.only_first), names_text(changes.only_second))};
}

Expected<std::string> write_page(const ReportOptions& options, const Json& data) {
  const std::string page = report_page(data);
  const auto write = [&](OutputFile& file) { return file.write(page.data(), page.size()); };
  BERTH_TRY(write_whole_file(options.output, write));
  if (options.json) return std::string();
  return fmt::format("{}: {}, open it in a browser\n", options.output, bytes_text(static_cast<int64_t>(page.size())));
}

Expected<std::string> run_report(const ReportOptions& options) {
  const bool both = !options.other.empty();
  if (!both && options.output.empty()) {
    return Failure{Error::kInvalidArgument, "report",
                   "give --output PLAN.html for a page, or a second program to compare with"};
  }
  if (!both && (options.json || options.all)) {
    return Failure{Error::kInvalidArgument, "report", "--json and --all are for two programs; give the second one"};
  }
  if (!options.output.empty()) {
    BERTH_TRY(keep_files({options.file, options.other}, options.output, "--output " + options.output));
  }
  Json data = {{"files", Json::array()}};
  BERTH_ASSIGN_OR_RETURN(const ProgramFile program, open_program(options.file));
  const std::vector<Timeline> first = timelines_of(program.view);
  data["files"].push_back(file_json(program.path, program.view, first));
  if (!both) return write_page(options, data);
  BERTH_ASSIGN_OR_RETURN(const ProgramFile other, open_program(options.other));
  const std::vector<Timeline> second = timelines_of(other.view);
  BERTH_ASSIGN_OR_RETURN(const ProgramChanges changes, compare(options, first, second));
  const std::string said = options.json ? changes_json(changes).text() + "\n"
                                        : changes_text(changes, options.all ? SIZE_MAX : kLargestChanges);
  if (options.output.empty()) return said;
  data["files"].push_back(file_json(other.path, other.view, second));
  BERTH_ASSIGN_OR_RETURN(const std::string page, write_page(options, data));
  return said + page;
}

}  // namespace

std::string report_html(const std::vector<format::ProgramView>& programs, const std::vector<std::string>& names) {
  Json data = {{"files", Json::array()}};
  for (size_t i = 0; i < programs.size(); ++i) {
    data["files"].push_back(file_json(names[i], programs[i], timelines_of(programs[i])));
  }
  return report_page(data);
}

void add_report(CLI::App& app, Session& session) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command =
      app.add_subcommand("report", "Draw the memory plan of a program over time, or say how two differ");
  command->add_option("FILE", options->file, "a .pte program")->required();
  command->add_option("OTHER", options->other, "another one: says which values moved, grew and vanished, by name");
  command->add_option("-o,--output", options->output, "the page to write, such as plan.html");
  command->add_flag("--json", options->json, "the differences of two programs as one JSON object");
  command->add_flag("--all", options->all,
                    fmt::format("list every difference, not only the {} largest of each method", kLargestChanges));
  command->footer("example: berth report model.pte -o plan.html\n         berth report old.pte new.pte");
  command->callback([options, &session] { session.finish(run_report(*options), options->output); });
}

}  // namespace berth::tool
