#include "compiler/check_program.h"

#include <string>
#include <vector>

#include "format/verify.h"
#include "format/verify_plan.h"

namespace berth {
namespace {

Failure our_fault(const format::Report& report) {
  return Failure{Error::kInternal, std::string("the program that was made, ") + report.place,
                 std::string(report.message) + "; please report this with the model, and try --no-reuse"};
}

}  // namespace

Status check_program(Span<const uint8_t> file) {
  format::Report report;
  format::ProgramView view;
  if (format::ProgramView::open(file, &view, &report) != Error::kOk ||
      format::verify_program(view, &report) != Error::kOk) {
    return our_fault(report);
  }
  std::vector<uint8_t> scratch;
  for (size_t method = 0; method < view.method_count(); ++method) {
    scratch.resize(format::plan_scratch_bytes(view, method));
    if (format::verify_plan(view, method, scratch, nullptr, &report) != Error::kOk) return our_fault(report);
  }
  return Done{};
}

}  // namespace berth
