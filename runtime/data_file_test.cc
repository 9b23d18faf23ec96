// Data files beside a program, ours by hand: sound ones are read, damaged ones are refused with the place.

#include "runtime/data_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "format/data_schema.h"

namespace berth {
namespace {

struct Blob {
  std::string key;
  uint32_t segment = 0;
  bool is_tensor = true;
  int8_t dtype = 6;
  std::vector<int32_t> sizes = {2, 2};
  std::vector<uint8_t> dim_order = {0, 1};
};
struct Segment {
  uint64_t offset = 0;
  uint64_t size = 16;
};

// What the file says; the header is computed from it.
struct Content {
  std::vector<Blob> blobs = {{"weight", 0}, {"notes", 1, false}};
  std::vector<Segment> segments = {{0, 16}, {32, 5}};
  uint64_t area = 48;
};

void put(std::vector<uint8_t>& bytes, size_t at, uint64_t value, size_t width) {
  for (size_t i = 0; i < width; ++i) bytes[at + i] = static_cast<uint8_t>(value >> (8 * i));
}

// As ExecuTorch's Python writer does it: the FlatBuffer is built, then 48 bytes of header go in after byte 8.
std::vector<uint8_t> file_of(const Content& content) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<fb::data::Segment>> segments;
  for (const Segment& s : content.segments) segments.push_back(fb::data::CreateSegment(builder, s.offset, s.size));
  std::vector<flatbuffers::Offset<fb::data::Blob>> blobs;
  for (const Blob& b : content.blobs) {
    const auto key = b.key.empty() ? 0 : builder.CreateString(b.key);
    flatbuffers::Offset<fb::data::Layout> layout = 0;
    if (b.is_tensor) {
      layout =
          fb::data::CreateLayout(builder, b.dtype, builder.CreateVector(b.sizes), builder.CreateVector(b.dim_order));
    }
    blobs.push_back(fb::data::CreateBlob(builder, key, b.segment, layout));
  }
  fb::data::FinishDataFileBuffer(
      builder, fb::data::CreateDataFile(builder, 0, builder.CreateVector(segments), builder.CreateVector(blobs)));
  std::vector<uint8_t> bytes(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
  const size_t size = bytes.size();
  const uint32_t root = flatbuffers::ReadScalar<uint32_t>(bytes.data());
  bytes.insert(bytes.begin() + 8, 48, uint8_t{0});
  put(bytes, 0, root + 48, 4);
  std::memcpy(bytes.data() + 8, "FH01", 4);
  const size_t base = (bytes.size() + 127) / 128 * 128;
  put(bytes, 12, 40, 4);
  put(bytes, 16, 48, 8);
  put(bytes, 24, size, 8);
  put(bytes, 32, base, 8);
  put(bytes, 40, content.area, 8);
  bytes.resize(base + content.area);
  for (size_t i = base; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i - base);
  return bytes;
}

std::string refusal(const std::vector<uint8_t>& bytes) {
  const BufferLoader loader{Span<const uint8_t>(bytes)};
  format::Report report;
  const Result<DataFile> file = DataFile::open(loader, &report);
  if (file.ok()) return "";
  EXPECT_EQ(file.error(), Error::kInvalidExternalData);
  EXPECT_EQ(DataFile::open(loader).error(), Error::kInvalidExternalData);
  return std::string(report.place) + ": " + report.message;
}

TEST(DataFile, FindsBlobsByKeyWithoutCopying) {
  const std::vector<uint8_t> bytes = file_of({});
  const BufferLoader loader{Span<const uint8_t>(bytes)};
  format::Report report;
  const Result<DataFile> file = DataFile::open(loader, &report);
  ASSERT_TRUE(file.ok()) << report.place << ": " << report.message;
  ASSERT_EQ(file->size(), 2u);
  EXPECT_STREQ(file->key(0), "weight");
  EXPECT_STREQ(file->key(1), "notes");
  EXPECT_EQ(file->key(2), nullptr);
  const Result<FreeableBuffer> weight = file->get("weight");
  ASSERT_TRUE(weight.ok());
  ASSERT_EQ(weight->size(), 16u);
  EXPECT_EQ(weight->data()[15], 15);
  const Result<FreeableBuffer> notes = file->get("notes");
  ASSERT_TRUE(notes.ok());
  ASSERT_EQ(notes->size(), 5u);
  EXPECT_EQ(notes->data()[0], 32);
  EXPECT_EQ(file->get("bias").error(), Error::kNotFound);
  EXPECT_EQ(file->get("").error(), Error::kNotFound);
}

TEST(DataFile, DescribesItsTensors) {
  const std::vector<uint8_t> bytes = file_of({});
  const BufferLoader loader{Span<const uint8_t>(bytes)};
  const Result<DataFile> file = DataFile::open(loader);
  ASSERT_TRUE(file.ok());
  const int32_t sizes[] = {2, 2}, flat[] = {4}, other[] = {1, 4};
  const uint8_t order[] = {0, 1}, turned[] = {1, 0}, one[] = {0};
  EXPECT_EQ(file->check("weight", DType::kF32, sizes, order), Error::kOk);
  EXPECT_EQ(file->check("weight", DType::kI32, sizes, order), Error::kInvalidExternalData);
  EXPECT_EQ(file->check("weight", DType::kF32, other, order), Error::kInvalidExternalData);
  EXPECT_EQ(file->check("weight", DType::kF32, sizes, turned), Error::kInvalidExternalData);
  EXPECT_EQ(file->check("weight", DType::kF32, flat, one), Error::kInvalidExternalData);
  EXPECT_EQ(file->check("notes", DType::kF32, flat, one), Error::kOk);
  EXPECT_EQ(file->check("bias", DType::kF32, flat, one), Error::kOk);
}

TEST(DataFile, RefusesImpossibleClaims) {
  const auto bent = [](const std::function<void(Content&)>& bend) {
    Content content;
    bend(content);
    return refusal(file_of(content));
  };
  EXPECT_EQ(bent([](Content&) {}), "");
  EXPECT_EQ(bent([](Content& c) { c.blobs[1].segment = 2; }), "blobs[1]: segment 2 does not exist; there are 2");
  EXPECT_EQ(bent([](Content& c) { c.segments[1] = {48, 1}; }), "blobs[1]: segment 1 is outside of the segment area");
  EXPECT_EQ(bent([](Content& c) {
              c.segments[1] = {UINT64_MAX, 2};
            }),
            "blobs[1]: segment 1 is outside of the segment area");
  EXPECT_EQ(bent([](Content& c) { c.blobs[0].key = ""; }), "blobs[0]: the blob has no key");
  const char* const kMismatch = "blobs[0]: the tensor's type and sizes do not match its 16 bytes";
  EXPECT_EQ(bent([](Content& c) { c.blobs[0].sizes = {2, 3}; }), kMismatch);
  EXPECT_EQ(bent([](Content& c) { c.blobs[0].sizes = {-2, 2}; }), kMismatch);
  EXPECT_EQ(bent([](Content& c) { c.blobs[0].sizes = {INT32_MAX, INT32_MAX}; }), kMismatch);
  EXPECT_EQ(bent([](Content& c) { c.blobs[0].dtype = 30; }), kMismatch);
  EXPECT_EQ(bent([](Content& c) { c.blobs[0].dtype = -1; }), kMismatch);
  EXPECT_EQ(bent([](Content& c) { c.blobs[0].dim_order = {0}; }), kMismatch);
}

TEST(DataFile, DamageIsRefusedOrReadWithoutACrash) {
  const std::vector<uint8_t> whole = file_of({});
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_NE(refusal(cut), "") << size;
  }
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::vector<uint8_t> bytes = whole;
    bytes[bit / 8] = static_cast<uint8_t>(bytes[bit / 8] ^ (1u << (bit % 8)));
    const BufferLoader loader{Span<const uint8_t>(bytes)};
    const Result<DataFile> file = DataFile::open(loader);
    if (!file.ok()) continue;
    for (size_t i = 0; i < file->size(); ++i) {
      const Result<FreeableBuffer> blob = file->get(file->key(i));
      ASSERT_TRUE(!blob.ok() || blob->size() == 0 || blob->data() + blob->size() <= bytes.data() + bytes.size());
    }
  }
}

}  // namespace
}  // namespace berth
