// Reads any bytes as a record of runs (.etdp). Finds offsets, counts or lengths that lead outside of the file, and sums
// of times that no number holds.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "base/check.h"
#include "tools/etdump.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Of exactly this size, so that the address sanitizer sees a byte read beyond it.
  constexpr std::align_val_t kAligned{16};
  const auto give_back = [](uint8_t* bytes) { ::operator delete[](bytes, kAligned); };
  const std::unique_ptr<uint8_t[], decltype(give_back)> bytes(static_cast<uint8_t*>(::operator new[](size, kAligned)),
                                                              give_back);
  if (size > 0) std::memcpy(bytes.get(), data, size);
  const berth::Span<const uint8_t> span(bytes.get(), size);
  const auto record = berth::tool::read_run_record(span, "input");
  if (!record.ok()) {
    BERTH_CHECK(record.error().place == "input" && !record.error().message.empty());
    return 0;
  }
  BERTH_CHECK(berth::tool::looks_like_run_record(span));
  // Each event is a table of the file.
  int64_t calls = 0;
  double before = INFINITY;
  for (const berth::tool::RecordedTime& time : record->times) {
    BERTH_CHECK(time.calls > 0 && !std::isnan(time.total) && time.total <= before);
    calls += time.calls;
    before = time.total;
  }
  BERTH_CHECK(record->runs >= 0 && record->allocations >= 0 && record->debug_events >= 0);
  BERTH_CHECK(static_cast<uint64_t>(calls + record->allocations + record->debug_events) <= size);
  return 0;
}
