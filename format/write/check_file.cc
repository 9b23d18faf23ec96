#include "format/write/check_file.h"

#include <algorithm>
#include <vector>

#include "format/verify.h"

namespace berth::format {
namespace {

/// What a file can make us allocate for the check of one method: rows of jumps grow with jumps times values.
constexpr size_t kMaxScratch = size_t{1} << 30;

}  // namespace

Failure to_failure(const Report& report) {
  return {report.code, std::string("program: ") + report.place, report.message};
}

Expected<PlanFacts> check_program(const ProgramView& program) {
  Report report;
  if (verify_program(program, &report) != Error::kOk) return to_failure(report);
  PlanFacts all;
  std::vector<uint8_t> scratch;
  for (size_t m = 0; m < program.method_count(); ++m) {
    const size_t bytes = plan_scratch_bytes(program, m);
    if (bytes > kMaxScratch) {
      return Failure{Error::kOutOfResources, "program: methods[" + std::to_string(m) + "]",
                     "checking its memory plan takes " + std::to_string(bytes >> 20) + " MiB, the limit is 1024"};
    }
    scratch.resize(std::max(scratch.size(), bytes));
    PlanFacts facts;
    if (verify_plan(program, m, {scratch.data(), scratch.size()}, &facts, &report) != Error::kOk) {
      return to_failure(report);
    }
    all.inferred = all.inferred || facts.inferred;
    all.unknown_operators += facts.unknown_operators;
    all.planned_values += facts.planned_values;
  }
  return all;
}

Expected<PlanFacts> check_file(Span<const uint8_t> file) {
  ProgramView program;
  Report report;
  if (ProgramView::open(file, &program, &report) != Error::kOk) return to_failure(report);
  return check_program(program);
}

}  // namespace berth::format
