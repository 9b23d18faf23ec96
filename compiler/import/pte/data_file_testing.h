// For tests: data files (.ptd) by hand.
#pragma once

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "format/data_schema.h"

namespace berth::testing {

struct DataEntry {
  std::string key;
  std::vector<uint8_t> bytes;
  int8_t dtype = 6;  // f32; negative: not a tensor
  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;
};

/// As ExecuTorch's writer does it: the FlatBuffer is built, then 48 bytes of header go in after byte 8; segments follow
/// at multiples of 16.
inline std::vector<uint8_t> data_file(const std::vector<DataEntry>& entries) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<fb::data::Segment>> segments;
  std::vector<flatbuffers::Offset<fb::data::Blob>> blobs;
  uint64_t area = 0;
  for (const DataEntry& entry : entries) {
    segments.push_back(fb::data::CreateSegment(builder, area, entry.bytes.size()));
    area = (area + entry.bytes.size() + 15) / 16 * 16;
    flatbuffers::Offset<fb::data::Layout> layout = 0;
    if (entry.dtype >= 0) {
      layout = fb::data::CreateLayout(builder, entry.dtype, builder.CreateVector(entry.sizes),
                                      builder.CreateVector(entry.dim_order));
    }
    const auto key = builder.CreateString(entry.key);
    blobs.push_back(fb::data::CreateBlob(builder, key, static_cast<uint32_t>(blobs.size()), layout));
  }
  fb::data::FinishDataFileBuffer(
      builder, fb::data::CreateDataFile(builder, 0, builder.CreateVector(segments), builder.CreateVector(blobs)));
  std::vector<uint8_t> bytes(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
  const uint64_t size = bytes.size();
  const uint32_t root = flatbuffers::ReadScalar<uint32_t>(bytes.data());
  bytes.insert(bytes.begin() + 8, 48, uint8_t{0});
  const auto put = [&](size_t at, uint64_t value, size_t width) {
    for (size_t i = 0; i < width; ++i) bytes[at + i] = static_cast<uint8_t>(value >> (8 * i));
  };
  const uint64_t base = (bytes.size() + 15) / 16 * 16;
  put(0, root + 48, 4);
  std::memcpy(bytes.data() + 8, "FH01", 4);
  put(12, 40, 4);
  put(16, 48, 8);
  put(24, size, 8);
  put(32, base, 8);
  put(40, area, 8);
  bytes.resize(base + area);
  uint64_t at = base;
  for (const DataEntry& entry : entries) {
    std::copy(entry.bytes.begin(), entry.bytes.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
    at = (at + entry.bytes.size() + 15) / 16 * 16;
  }
  return bytes;
}

inline void write_file(const std::string& path, const std::vector<uint8_t>& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace berth::testing
