#include "compiler/check_program.h"

#include <string>
#include <vector>

#include "compiler/check_delegates.h"
#include "format/plan_check/verify_plan.h"
#include "format/verify.h"

namespace berth {
namespace {

Failure our_fault(const char* place, const char* message) {
  return Failure{Error::kInternal, std::string("the program that was made, ") + place,
                 std::string(message) + "; please report this with the model, and try --no-reuse"};
}

}  // namespace

Status check_program(Span<const uint8_t> file, const std::set<std::string>& external) {
  format::Report report;
  format::ProgramView view;
  if (format::ProgramView::open(file, &view, &report) != Error::kOk ||
      format::verify_program(view, &report) != Error::kOk) {
    return our_fault(report.place, report.message);
  }
  std::vector<uint8_t> scratch;
  for (size_t method = 0; method < view.method_count(); ++method) {
    scratch.resize(format::plan_scratch_bytes(view, method));
    if (format::verify_plan(view, method, scratch, nullptr, &report) != Error::kOk)
      return our_fault(report.place, report.message);
  }
  const Status delegates = check_delegates(view, external);
  if (delegates.ok()) return Done{};
  return our_fault(delegates.error().place.c_str(), delegates.error().message.c_str());
}

}  // namespace berth
