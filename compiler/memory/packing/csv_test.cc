#include "compiler/memory/packing/csv.h"

#include <gtest/gtest.h>

#include <random>

#include "base/seeds_testing.h"

namespace berth::packing {
namespace {

std::string error_of(std::string_view text) {
  const Expected<CsvProblem> read = read_csv(text);
  if (read.ok()) return "";
  EXPECT_EQ(read.error().code, Error::kInvalidArgument);
  return read.error().text();
}

TEST(Csv, ReadsMiniMallocsColumnsInAnyOrder) {
  const Expected<CsvProblem> read = read_csv(" size , id,upper,lower\r\n\n 100,a, 3 ,0\r\n7 ,b 2,-1,-5\n");
  ASSERT_TRUE(read.ok()) << read.error().text();
  const std::vector<Buffer>& buffers = read->problem.buffers;
  ASSERT_EQ(buffers.size(), 2u);
  EXPECT_EQ(read->names, (std::vector<std::string>{"a", "b 2"}));
  EXPECT_EQ(buffers[0].size, 100);
  EXPECT_EQ(buffers[0].lower, 0);
  EXPECT_EQ(buffers[0].upper, 3);
  EXPECT_EQ(buffers[0].alignment, 1);
  EXPECT_EQ(buffers[1].lower, -5);
  EXPECT_TRUE(read->offsets.empty());
}

TEST(Csv, RoundTripsWithAlignmentAndOffsets) {
  const std::string text = "id,lower,upper,size,alignment,offset\na,0,3,100,16,0\nb,2,5,7,1,100\n";
  const Expected<CsvProblem> read = read_csv(text);
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(read->offsets, (std::vector<int64_t>{0, 100}));
  Plan plan;
  plan.offsets = read->offsets;
  EXPECT_EQ(write_csv(read->problem, read->names, &plan), text);
  EXPECT_EQ(write_csv(read->problem, read->names), "id,lower,upper,size,alignment\na,0,3,100,16\nb,2,5,7,1\n");
}

TEST(Csv, AHeaderAloneIsAnEmptyProblem) {
  const Expected<CsvProblem> read = read_csv("id,lower,upper,size");
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(read->problem.buffers.empty());
}

TEST(Csv, BadFilesAreRefusedWithTheLine) {
  EXPECT_EQ(error_of(""), "line 0: the file is empty; expected the columns id,lower,upper,size[,alignment]");
  EXPECT_EQ(error_of("id,lower,upper\n"), "line 1: column \"size\" is missing");
  EXPECT_EQ(error_of("\n\nid,id\n"), "line 3: column \"id\" stands twice");
  EXPECT_EQ(error_of("id,lower,upper,size,colour\n"),
            "line 1: unknown column \"colour\"; expected id,lower,upper,size and perhaps alignment and offset");
  const std::string head = "id,lower,upper,size\n";
  EXPECT_EQ(error_of(head + "a,0,1,5\nb,0,1\n"), "line 3: expected 4 fields, found fewer");
  EXPECT_EQ(error_of(head + "a,0,1,5,6\n"), "line 2: expected 4 fields, found more");
  EXPECT_EQ(error_of(head + "a,0,1,5x\n"), "line 2: expected a whole number of 64 bits for size, found \"5x\"");
  EXPECT_EQ(error_of(head + "a,0,1,\n"), "line 2: expected a whole number of 64 bits for size, found \"\"");
  EXPECT_EQ(error_of(head + "a,0,1,99999999999999999999\n").substr(0, 6), "line 2");
  EXPECT_EQ(error_of(head + "a,0,1,1e3\n").substr(0, 6), "line 2");
  EXPECT_EQ(error_of(head + "a,0,1,5\n\na,0,1,5\n"), "line 4: id \"a\" stands on line 2 already");
  EXPECT_EQ(error_of(head + "a,0,1,5\nb,3,3,5\n"), "line 3: the lifetime is empty: upper must be greater than lower");
  EXPECT_EQ(error_of(head + "a,0,1,-5\n"), "line 2: the size is negative");
  EXPECT_EQ(error_of("id,lower,upper,size,alignment\na,0,1,5,3\n"), "line 2: the alignment is not a power of two");
  EXPECT_EQ(error_of(head + "\"a\",0,1,5\n"), "line 2: quotes are not understood; ids are plain text");
}

TEST(Csv, RandomBytesNeverCrashTheReaderAndMessagesStayPrintable) {
  const unsigned seed = berth::testing::new_seed();
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string seeds = "id,lower,upper,size,alignment\na,0,3,100,16\n";
  for (int round = 0; round < 2000; ++round) {
    std::string text = seeds;
    for (unsigned k = 0; k < 1 + random() % 5; ++k) text[random() % text.size()] = static_cast<char>(random());
    const Expected<CsvProblem> read = read_csv(text);
    if (read.ok()) continue;
    for (const char c : read.error().text()) ASSERT_TRUE(c >= ' ' && c <= '~');
  }
}

}  // namespace
}  // namespace berth::packing
