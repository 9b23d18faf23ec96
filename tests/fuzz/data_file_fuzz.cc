// Reads any bytes as a data file (.ptd): its tables, every blob that it names, and what it says of their tensors. Finds
// offsets, counts or sizes that lead outside of the file.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/check.h"
#include "runtime/data_file.h"

namespace {

uint8_t read_all(berth::Span<const uint8_t> bytes) {
  uint8_t all = 0;
  for (uint8_t byte : bytes) all = static_cast<uint8_t>(all ^ byte);
  return all;
}

void read_blobs(const berth::DataFile& file) {
  // Many entries may share one long segment.
  constexpr size_t kMaxRead = 1 << 20;
  const int32_t sizes[] = {2, 2};
  const uint8_t order[] = {0, 1};
  volatile uint8_t sink = 0;
  size_t read = 0;
  for (size_t i = 0; i < file.size() && read < kMaxRead; ++i) {
    BERTH_CHECK(file.key(i) != nullptr && file.key(i)[0] != '\0');
    const auto blob = file.get(file.key(i));
    if (blob.ok()) sink = static_cast<uint8_t>(sink ^ read_all(blob->bytes()));
    read += blob.ok() ? blob->size() + 1 : 1;
    file.check(file.key(i), berth::DType::kF32, sizes, order);
  }
  BERTH_CHECK(file.key(file.size()) == nullptr);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // At a multiple of 16, and of exactly this size, so that the address sanitizer sees a byte read beyond it.
  const std::unique_ptr<uint8_t[]> bytes(new uint8_t[size]);
  if (size > 0) std::memcpy(bytes.get(), data, size);
  const berth::BufferLoader loader({bytes.get(), size});
  berth::format::Report report;
  const auto file = berth::DataFile::open(loader, &report);
  if (file.ok()) {
    read_blobs(*file);
  } else {
    BERTH_CHECK(report.message[0] != '\0');
  }
  return 0;
}
