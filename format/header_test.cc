// The first bytes of a file: what layouts are taken, and which lies about sizes are found.
#include "format/header.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace berth::format {
namespace {

void put(std::vector<uint8_t>& bytes, size_t at, uint64_t value, size_t width) {
  for (size_t i = 0; i < width; ++i) bytes[at + i] = static_cast<uint8_t>(value >> (8 * i));
}

/// 4040 bytes as ExecuTorch 1.5.1 lays out a program of 3936 bytes with 72 bytes of constants.
std::vector<uint8_t> usual_head() {
  std::vector<uint8_t> bytes(64);
  put(bytes, 0, 60, 4);
  std::memcpy(bytes.data() + 4, "ET12eh00", 8);
  put(bytes, 12, 32, 4);
  put(bytes, 16, 3936, 8);
  put(bytes, 24, 3968, 8);
  put(bytes, 32, 72, 8);
  return bytes;
}

Error parse(const std::vector<uint8_t>& head, uint64_t file_size, FileLayout* layout, Report* report = nullptr) {
  return parse_layout({head.data(), head.size()}, file_size, layout, report);
}

TEST(Header, UsualFilesAreReadAsLaidOut) {
  FileLayout layout;
  ASSERT_EQ(parse(usual_head(), 4040, &layout), Error::kOk);
  EXPECT_EQ(layout.header_bytes, 32u);
  EXPECT_EQ(layout.program_size, 3936u);
  EXPECT_EQ(layout.segment_base, 3968u);
  EXPECT_EQ(layout.segment_bytes, 72u);
}

// Holds row 230: wrong lengths refused, longer than known accepted.
TEST(Header, LengthsOfOtherReleasesAreAcceptedAndNonsenseRefused) {
  FileLayout layout;
  auto head = usual_head();
  put(head, 12, 40, 4);
  ASSERT_EQ(parse(head, 4041, &layout), Error::kOk);
  EXPECT_EQ(layout.segment_bytes, 72u) << "a longer header says it too";

  put(head, 12, 24, 4);
  ASSERT_EQ(parse(head, 4041, &layout), Error::kOk);
  EXPECT_EQ(layout.segment_bytes, 73u) << "an old header does not say; it is what follows";

  Report report;
  put(head, 12, 23, 4);
  EXPECT_EQ(parse(head, 4040, &layout, &report), Error::kInvalidProgram);
  EXPECT_STREQ(report.place, "header");
  EXPECT_STREQ(report.message, "the extended header has 23 bytes, at least 24 are needed");
}

TEST(Header, AFileWithoutAHeaderIsAllProgram) {
  auto head = usual_head();
  std::memcpy(head.data() + 8, "....", 4);
  FileLayout layout;
  ASSERT_EQ(parse(head, 1072, &layout), Error::kOk);
  EXPECT_EQ(layout.header_bytes, 0u);
  EXPECT_EQ(layout.program_size, 1072u);
  EXPECT_EQ(layout.segment_base, 0u);
}

// Holds row 232.
TEST(Header, TruncatedAndForeignFilesSayWhatIsWrong) {
  FileLayout layout;
  Report report;
  EXPECT_EQ(parse(usual_head(), 4039, &layout, &report), Error::kInvalidProgram);
  EXPECT_NE(std::string(report.message).find("may be truncated"), std::string::npos);
  EXPECT_EQ(parse(usual_head(), 3000, &layout, &report), Error::kInvalidProgram);
  EXPECT_EQ(parse(usual_head(), 63, &layout, &report), Error::kInvalidProgram);
  EXPECT_EQ(parse_layout({}, 0, &layout, &report), Error::kInvalidProgram);

  auto head = usual_head();
  head[7] = '1';
  EXPECT_EQ(parse(head, 4040, &layout, &report), Error::kInvalidProgram);
  EXPECT_STREQ(report.message, "the file's format is ET11, this reader supports ET12; export the program again");
  head[4] = 'P';
  EXPECT_EQ(parse(head, 4040, &layout, &report), Error::kInvalidProgram);
  EXPECT_STREQ(report.message, "not a program: bytes 4 to 7 should be \"ET12\"");
}

TEST(Header, SizesThatOverflowOrOverlapAreRefused) {
  struct Lie {
    size_t at;
    uint64_t value;
  };
  // program_size, segment_base and segment_bytes.
  for (const Lie lie : {Lie{16, UINT64_MAX}, Lie{16, 3969}, Lie{16, 39}, Lie{16, 0}, Lie{24, UINT64_MAX}, Lie{24, 0},
                        Lie{24, 3935}, Lie{24, 3969}, Lie{32, UINT64_MAX}, Lie{32, 73}}) {
    auto head = usual_head();
    put(head, lie.at, lie.value, 8);
    FileLayout layout;
    EXPECT_EQ(parse(head, 4040, &layout), Error::kInvalidProgram) << "at " << lie.at << ": " << lie.value;
  }
}

}  // namespace
}  // namespace berth::format
