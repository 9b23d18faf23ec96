#include "format/nested.h"

#include <cstring>

#include "format/little_endian.h"

namespace berth::format {
namespace {

constexpr char kMagic[8] = {'B', 'e', 'r', 't', 'h', 'N', 's', 't'};

void put(uint64_t value, size_t size, uint8_t* out) {
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<uint8_t>(value >> (8 * i));
}

}  // namespace

NestedHeader make_nested_header(uint64_t program_size, uint32_t version) {
  NestedHeader header = {};
  std::memcpy(header.bytes, kMagic, sizeof kMagic);
  put(version, 4, header.bytes + 8);
  put(kNestedHeaderSize, 4, header.bytes + 12);
  put(program_size, 8, header.bytes + 16);
  return header;
}

Result<Span<const uint8_t>> open_nested(Span<const uint8_t> payload, Report* report, uint32_t* version) {
  constexpr const char* kPlace = "nested program header";
  if (payload.size() < kNestedHeaderSize || std::memcmp(payload.data(), kMagic, sizeof kMagic) != 0) {
    return fail(report, Error::kInvalidProgram, kPlace, "the payload of %zu bytes is not a nested program",
                payload.size());
  }
  const auto found = little_endian<uint32_t>(payload.data() + 8);
  const auto header_size = little_endian<uint32_t>(payload.data() + 12);
  if (found < kNestedVersion || found > kNestedPortInScratchVersion || header_size != kNestedHeaderSize) {
    return fail(report, Error::kDelegateInvalidCompatibility, kPlace,
                "version %u with %u bytes of header; this build reads versions %u to %u with %zu", found, header_size,
                kNestedVersion, kNestedPortInScratchVersion, kNestedHeaderSize);
  }
  const auto size = little_endian<uint64_t>(payload.data() + 16);
  if (size > payload.size() - kNestedHeaderSize) {
    return fail(report, Error::kInvalidProgram, kPlace, "the header says %llu bytes of program, %zu follow",
                static_cast<unsigned long long>(size), payload.size() - kNestedHeaderSize);
  }
  if (reinterpret_cast<uintptr_t>(payload.data()) % 16 != 0) {
    return fail(report, Error::kInvalidArgument, kPlace, "the payload is not aligned to 16");
  }
  if (version != nullptr) *version = found;
  return Span<const uint8_t>(payload.data() + kNestedHeaderSize, static_cast<size_t>(size));
}

}  // namespace berth::format
