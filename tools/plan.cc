// berth plan: runs the memory planner on a problem in a CSV file.
#include <fmt/format.h>

#include <memory>

#include "base/output_file.h"
#include "compiler/memory/packing/csv.h"
#include "compiler/memory/packing/picture.h"
#include "compiler/memory/packing/plan_best.h"
#include "compiler/memory/packing/validate.h"
#include "tools/tool.h"

namespace berth::tool {
namespace {

constexpr size_t kMaxProblemBytes = size_t{1} << 28;

struct PlanOptions {
  std::string problem;
  std::string solution;
  std::string planner = "best";
  int64_t capacity = -1;
  double time_limit = 0;
  bool json = false;
  bool picture = false;
};

const std::pair<const char*, packing::Planner> kPlanners[] = {
    {"naive", packing::Planner::kNaive},         {"greedy", packing::Planner::kGreedy},
    {"breadth", packing::Planner::kBreadth},     {"best-fit", packing::Planner::kBestFit},
    {"heuristic", packing::Planner::kHeuristic}, {"best", packing::Planner::kBest},
};

packing::PlanOptions planner_options(const PlanOptions& options, const packing::CsvProblem& csv) {
  packing::PlanOptions out;
  for (const auto& [name, planner] : kPlanners) {
    if (options.planner == name) out.planner = planner;
  }
  out.time_limit = options.time_limit;
  out.nodes = options.time_limit > 0 ? packing::kManyNodes : packing::kPatientNodes;
  out.names = &csv.names;
  out.stop_at_capacity = options.capacity >= 0;
  return out;
}

Expected<std::string> run_plan(const PlanOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const std::string text, read_text(options.problem, kMaxProblemBytes));
  auto read = packing::read_csv(text);
  if (!read.ok()) return Failure{read.error().code, options.problem + ": " + read.error().place, read.error().message};
  packing::CsvProblem csv = std::move(read).value();
  if (options.capacity >= 0) csv.problem.spaces[0].capacity = options.capacity;

  const Stopwatch watch;
  auto planned = packing::plan_best(csv.problem, planner_options(options, csv));
  if (!planned.ok()) return Failure{planned.error().code, options.problem, planned.error().text()};
  const double seconds = watch.seconds();
  BERTH_TRY(packing::validate(csv.problem, *planned));

  const packing::SpaceUse& use = planned->spaces[0];
  if (!options.solution.empty()) {
    BERTH_TRY(keep_files({options.problem}, options.solution, "--output " + options.solution));
    const std::string solution = packing::write_csv(csv.problem, csv.names, &*planned);
    BERTH_TRY(write_whole_file(options.solution,
                               [&](OutputFile& out) { return out.write(solution.data(), solution.size()); }));
  }
  if (options.json) {
    Json json = {{"height", use.height},     {"lower_bound", use.lower_bound},
                 {"optimal", use.optimal()}, {"truncated", planned->truncated},
                 {"nodes", planned->nodes},  {"seconds", seconds}};
    if (options.picture) json["picture"] = packing::picture(csv.problem, *planned, 0);
    return json.text() + "\n";
  }
  const std::string said =
      fmt::format("{}: {} bytes, lower bound {}{}{}, in {}\n",
                  counted(static_cast<int64_t>(csv.names.size()), "buffer"), use.height, use.lower_bound,
                  use.optimal() ? ", optimal" : "", planned->truncated ? ", truncated" : "", duration_text(seconds));
  return options.picture ? said + packing::picture(csv.problem, *planned, 0) : said;
}

}  // namespace

void add_plan(CLI::App& app, Session& session) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* command =
      app.add_subcommand("plan", "Plan the memory of a problem in CSV (id,lower,upper,size[,alignment])");
  command->add_option("PROBLEM", options->problem, "the problem, in MiniMalloc's columns")->required();
  command->add_option("-o,--output", options->solution, "write the problem with its offsets to this CSV");
  command->add_option("--capacity", options->capacity, "accept the first plan of at most this many bytes")
      ->check(not_negative());
  command
      ->add_option("--time-limit", options->time_limit,
                   "the most seconds to search; default: a limit of work, which is the same on every machine")
      ->check(CLI::Range(0.001, 1e6));
  command
      ->add_option("--planner", options->planner,
                   "naive, greedy, breadth, best-fit, heuristic (all but the exact search) or best (the default)")
      ->check(CLI::IsMember({"naive", "greedy", "breadth", "best-fit", "heuristic", "best"}));
  command->add_flag("--json", options->json, "one JSON object instead of a sentence");
  command->add_flag("--picture", options->picture, "draw the plan: time to the right, memory upward");
  command->footer("example: berth plan problem.csv -o solution.csv --picture");
  command->callback([options, &session] { session.finish(run_plan(*options), options->solution); });
}

}  // namespace berth::tool
