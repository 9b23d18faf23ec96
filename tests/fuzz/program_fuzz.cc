// Reads any bytes as a program file: header, structure, memory plan, text form. Finds offsets, counts or cycles that
// lead outside of the file or cause unbounded work.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "format/plan_check/verify_plan.h"
#include "format/verify.h"
#include "format/write/print_program.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using berth::Error;
  // At a multiple of 16, and of exactly this size, so that the address sanitizer sees a byte read beyond it.
  const std::unique_ptr<uint8_t[]> file(new uint8_t[size]);
  if (size > 0) std::memcpy(file.get(), data, size);
  berth::format::Report report;
  berth::format::ProgramView program;
  if (berth::format::ProgramView::open({file.get(), size}, &program, &report) != Error::kOk) return 0;
  if (berth::format::verify_program(program, &report) != Error::kOk) return 0;
  for (size_t method = 0; method < program.method_count(); ++method) {
    std::vector<uint8_t> scratch(berth::format::plan_scratch_bytes(program, method));
    berth::format::verify_plan(program, method, {scratch.data(), scratch.size()}, nullptr, &report);
  }
  if (berth::format::print_program(program).empty() && program.method_count() > 0) __builtin_trap();
  return 0;
}
