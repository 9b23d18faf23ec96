// The bytes of data files: what is written is what the checks of stranger's files accept, and holds each tensor's
// bytes.
#include "format/write/write_data_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/seeds_testing.h"
#include "format/data_file.h"
#include "format/data_schema.h"
#include "format/program_view.h"

namespace berth::format {
namespace {

DataBlobDesc blob(const std::string& key, std::vector<uint8_t> bytes) {
  DataBlobDesc desc;
  desc.key = key;
  desc.dtype = DType::kU8;
  desc.sizes = {static_cast<int32_t>(bytes.size())};
  desc.dim_order = {0};
  desc.bytes = Bytes::of(std::move(bytes));
  return desc;
}

std::vector<uint8_t> written(const DataFileDesc& file) {
  std::vector<uint8_t> bytes;
  const Status status = write_data_file(file, append_to(&bytes));
  EXPECT_TRUE(status.ok()) << status.error().text();
  return bytes;
}

uint64_t number_in(const std::vector<uint8_t>& bytes, size_t at, size_t width) {
  uint64_t value = 0;
  for (size_t i = 0; i < width; ++i) value |= static_cast<uint64_t>(bytes[at + i]) << (8 * i);
  return value;
}

struct Read {
  DataLayout layout;
  const fb::data::DataFile* file = nullptr;
};

Read read(const std::vector<uint8_t>& bytes) {
  Read read;
  Report report;
  EXPECT_EQ(parse_data_layout(bytes, bytes.size(), &read.layout, &report), Error::kOk) << report.message;
  const Span<const uint8_t> tables(bytes.data(), read.layout.flatbuffer_size);
  EXPECT_EQ(verify_data_file(tables, read.layout, &read.file, &report), Error::kOk) << report.message;
  return read;
}

// The offsets are those of ExecuTorch's header, checked here byte by byte.
TEST(WriteDataFile, HeaderHasTheLayout) {
  DataFileDesc file;
  file.blobs = {blob("a", {1, 2, 3}), blob("b", {4})};
  const std::vector<uint8_t> bytes = written(file);
  EXPECT_EQ(std::memcmp(bytes.data() + 4, "FT01FH01", 8), 0);
  EXPECT_EQ(number_in(bytes, 12, 4), 40u);
  EXPECT_EQ(number_in(bytes, 16, 8), 48u);
  const uint64_t tables = 48 + number_in(bytes, 24, 8);
  const uint64_t base = number_in(bytes, 32, 8);
  EXPECT_EQ(base, (tables + 127) / 128 * 128);
  EXPECT_EQ(number_in(bytes, 40, 8), 129u);
  EXPECT_EQ(bytes.size(), base + 129);
  EXPECT_EQ(bytes[base + 2], 3);
  EXPECT_EQ(bytes[base + 128], 4);
  for (uint64_t i = tables; i < base; ++i) EXPECT_EQ(bytes[i], 0);
}

TEST(WriteDataFile, WhatIsWrittenIsRead) {
  berth::testing::for_each_seed(200, [](unsigned seed) {
    std::mt19937 random(seed);
    DataFileDesc file;
    file.alignment = 16u << random() % 9;
    std::vector<std::vector<uint8_t>> contents;
    const size_t count = random() % 6;
    for (size_t i = 0; i < count; ++i) {
      std::vector<uint8_t> bytes(1 + random() % 700);
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
      file.blobs.push_back(blob("key" + std::to_string(i), bytes));
      const size_t other = i == 0 ? 0 : random() % i;
      if (i > 0 && random() % 3 == 0 && file.blobs[other].shares < 0) {
        bytes = contents[other];
        file.blobs.back() = blob("key" + std::to_string(i), bytes);
        file.blobs.back().bytes = {};
        file.blobs.back().shares = static_cast<int32_t>(other);
      }
      contents.push_back(std::move(bytes));
    }
    const std::vector<uint8_t> bytes = written(file);
    EXPECT_EQ(bytes, written(file));
    const Read back = read(bytes);
    if (back.file == nullptr) return;
    EXPECT_EQ(back.layout.segment_base % file.alignment, 0u);
    ASSERT_EQ(length(back.file->blobs()), count);
    for (uint32_t i = 0; i < count; ++i) {
      const fb::data::Blob& entry = *back.file->blobs()->Get(i);
      const fb::data::Segment& segment = *back.file->segments()->Get(entry.segment_index());
      EXPECT_EQ(segment.offset() % file.alignment, 0u);
      EXPECT_STREQ(text(entry.key()), file.blobs[i].key.c_str());
      EXPECT_EQ(entry.layout()->scalar_type(), static_cast<int8_t>(DType::kU8));
      ASSERT_EQ(segment.size(), contents[i].size());
      const uint8_t* start = bytes.data() + back.layout.segment_base + segment.offset();
      EXPECT_EQ(std::vector<uint8_t>(start, start + segment.size()), contents[i]);
    }
  });
}

TEST(WriteDataFile, SharedBytesStandThereOnce) {
  DataFileDesc file;
  file.blobs = {blob("a", std::vector<uint8_t>(1000, 7)), blob("b", {})};
  file.blobs[1].shares = 0;
  file.blobs[1].bytes = {};
  const std::vector<uint8_t> bytes = written(file);
  EXPECT_LT(bytes.size(), 1500u);
  EXPECT_EQ(length(read(bytes).file->segments()), 1u);
}

TEST(WriteDataFile, AFaultyBlobAndAlignmentAreRefused) {
  DataFileDesc file;
  file.blobs = {blob("a", {1, 2, 3})};
  file.alignment = 100;
  std::vector<uint8_t> bytes;
  EXPECT_EQ(write_data_file(file, append_to(&bytes)).error().code, Error::kInvalidArgument);
  file.alignment = 128;
  file.blobs[0].bytes.size = 4;
  const Status status = write_data_file(file, append_to(&bytes));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Error::kInternal);
  EXPECT_EQ(status.error().place, "data \"a\"");
}

}  // namespace
}  // namespace berth::format
