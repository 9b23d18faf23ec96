#include "format/write/sink.h"

#include <memory>

namespace berth::format {

Bytes Bytes::of(std::vector<uint8_t> bytes) {
  const auto kept = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  return {kept->size(), [kept](const Sink& sink) { return sink({kept->data(), kept->size()}); }};
}

Bytes Bytes::borrowed(Span<const uint8_t> bytes) {
  return {bytes.size(), [bytes](const Sink& sink) { return sink(bytes); }};
}

Sink append_to(std::vector<uint8_t>* out) {
  return [out](Span<const uint8_t> bytes) -> Status {
    out->insert(out->end(), bytes.begin(), bytes.end());
    return Done();
  };
}

void put(std::vector<uint8_t>& bytes, size_t at, uint64_t value, size_t width) {
  for (size_t i = 0; i < width; ++i) bytes[at + i] = static_cast<uint8_t>(value >> (8 * i));
}

}  // namespace berth::format
