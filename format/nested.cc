#include "format/nested.h"

#include <cstring>

namespace berth::format {
namespace {

constexpr char kMagic[8] = {'B', 'e', 'r', 't', 'h', 'N', 's', 't'};

void put(uint64_t value, size_t size, uint8_t* out) {
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<uint8_t>(value >> (8 * i));
}

uint64_t get(const uint8_t* bytes, size_t size) {
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

}  // namespace

NestedHeader make_nested_header(uint64_t program_size) {
  NestedHeader header = {};
  std::memcpy(header.bytes, kMagic, sizeof kMagic);
  put(kNestedVersion, 4, header.bytes + 8);
  put(kNestedHeaderSize, 4, header.bytes + 12);
  put(program_size, 8, header.bytes + 16);
  return header;
}

Result<Span<const uint8_t>> open_nested(Span<const uint8_t> payload, Report* report) {
  constexpr const char* kPlace = "nested program header";
  if (payload.size() < kNestedHeaderSize || std::memcmp(payload.data(), kMagic, sizeof kMagic) != 0) {
    return fail(report, Error::kInvalidProgram, kPlace, "the payload of %zu bytes is no nested program",
                payload.size());
  }
  const uint64_t version = get(payload.data() + 8, 4);
  const uint64_t header_size = get(payload.data() + 12, 4);
  if (version != kNestedVersion || header_size != kNestedHeaderSize) {
    return fail(report, Error::kDelegateInvalidCompatibility, kPlace,
                "version %llu with %llu bytes of header; this build reads version %u with %zu",
                static_cast<unsigned long long>(version), static_cast<unsigned long long>(header_size), kNestedVersion,
                kNestedHeaderSize);
  }
  const uint64_t size = get(payload.data() + 16, 8);
  if (size > payload.size() - kNestedHeaderSize) {
    return fail(report, Error::kInvalidProgram, kPlace, "a program of %llu bytes is announced, %zu follow",
                static_cast<unsigned long long>(size), payload.size() - kNestedHeaderSize);
  }
  if (reinterpret_cast<uintptr_t>(payload.data()) % 16 != 0) {
    return fail(report, Error::kInvalidArgument, kPlace, "the payload does not lie at a multiple of 16");
  }
  return Span<const uint8_t>(payload.data() + kNestedHeaderSize, static_cast<size_t>(size));
}

}  // namespace berth::format
