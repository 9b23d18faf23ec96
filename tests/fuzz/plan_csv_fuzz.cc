// Reads any bytes as a planning problem; what it accepts is planned, judged, written and read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "compiler/memory/packing/csv.h"
#include "compiler/memory/packing/plan_best.h"
#include "compiler/memory/packing/validate.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace berth::packing;
  const auto read = read_csv(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!read.ok()) return 0;
  const auto plan = plan_best(read->problem);
  BERTH_CHECK(plan.ok());  // one space without a capacity and without fixed places can always be planned
  BERTH_CHECK(validate(read->problem, *plan).ok());
  const auto again = read_csv(write_csv(read->problem, read->names, &*plan));
  BERTH_CHECK(again.ok() && again->offsets == plan->offsets);
  return 0;
}
