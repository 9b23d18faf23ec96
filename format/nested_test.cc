#include "format/nested.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace berth::format {
namespace {

struct Payload {
  alignas(16) uint8_t bytes[64] = {};
  Payload() {
    const NestedHeader header = make_nested_header(32);
    std::memcpy(bytes, header.bytes, sizeof header.bytes);
    std::memset(bytes + 32, 7, 32);
  }
  Span<const uint8_t> span() const { return {bytes, sizeof bytes}; }
};

TEST(Nested, HeaderHasTheFormatsBytes) {
  const uint8_t expected[32] = {'B', 'e', 'r', 't', 'h', 'N', 's', 't', 1, 0, 0, 0, 32, 0, 0, 0, 0x03, 0x02, 0x01};
  EXPECT_EQ(std::memcmp(make_nested_header(0x010203).bytes, expected, 32), 0);
}

TEST(Nested, HeaderPointsToTheProgram) {
  const Payload payload;
  const auto program = open_nested(payload.span(), nullptr);
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(program->data(), payload.bytes + 32);
  EXPECT_EQ(program->size(), 32u);
}

TEST(Nested, ForeignAndTruncatedBytesAreRefused) {
  Payload payload;
  Report report;
  EXPECT_EQ(open_nested({payload.bytes, 63}, &report).error(), Error::kInvalidProgram);
  EXPECT_STREQ(report.place, "nested program header");
  for (size_t size : {size_t{0}, size_t{8}, size_t{31}}) {
    EXPECT_EQ(open_nested({payload.bytes, size}, nullptr).error(), Error::kInvalidProgram);
  }
  payload.bytes[0] = 'b';
  EXPECT_EQ(open_nested(payload.span(), nullptr).error(), Error::kInvalidProgram);
}

TEST(Nested, AnUnknownVersionIsNamed) {
  Payload payload;
  for (const uint32_t version : {0u, kNestedPortInScratchVersion + 1}) {
    payload.bytes[8] = static_cast<uint8_t>(version);
    Report report;
    EXPECT_EQ(open_nested(payload.span(), &report).error(), Error::kDelegateInvalidCompatibility);
    EXPECT_NE(std::strstr(report.message, ("version " + std::to_string(version)).c_str()), nullptr);
  }
}

TEST(Nested, EveryVersionIsRead) {
  Payload payload;
  for (uint32_t version = kNestedVersion; version <= kNestedPortInScratchVersion; ++version) {
    const NestedHeader header = make_nested_header(32, version);
    std::memcpy(payload.bytes, header.bytes, sizeof header.bytes);
    uint32_t found = 0;
    ASSERT_TRUE(open_nested(payload.span(), nullptr, &found).ok());
    EXPECT_EQ(found, version);
  }
}

}  // namespace
}  // namespace berth::format
