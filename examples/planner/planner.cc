// Gives every buffer of a problem an offset: reads the problem as CSV (id,lower,upper,size[,alignment]), and prints it
// with offsets.
//
//     planner PROBLEM.csv
#include <cstdio>
#include <fstream>
#include <sstream>

#include "compiler/memory/packing/csv.h"
#include "compiler/memory/packing/plan_best.h"
#include "compiler/memory/packing/validate.h"

namespace {

namespace packing = berth::packing;

berth::Status plan(const std::string& text) {
  BERTH_ASSIGN_OR_RETURN(const packing::CsvProblem csv, packing::read_csv(text));
  packing::PlanOptions options;
  options.nodes = packing::kPatientNodes;
  BERTH_ASSIGN_OR_RETURN(const packing::Plan plan, packing::plan_best(csv.problem, options));
  BERTH_TRY(packing::validate(csv.problem, plan));
  const packing::SpaceUse& use = plan.spaces[0];
  std::fprintf(stderr, "%lld bytes, lower bound %lld%s\n", static_cast<long long>(use.height),
               static_cast<long long>(use.lower_bound), use.optimal() ? ", optimal" : "");
  std::fputs(packing::write_csv(csv.problem, csv.names, &plan).c_str(), stdout);
  return berth::Done{};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: planner PROBLEM.csv\n");
    return 2;
  }
  std::stringstream text;
  text << std::ifstream(argv[1]).rdbuf();
  const berth::Status planned = plan(text.str());
  if (planned.ok()) return 0;
  std::fprintf(stderr, "%s: %s\n", argv[1], planned.error().text().c_str());
  return 1;
}
