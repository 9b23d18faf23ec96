#include "format/write/write_data_file.h"

#include <cstring>

#include "base/math.h"
#include "format/data_schema.h"
#include "format/write/cursor.h"

namespace berth::format {
namespace {

using fb::data::Blob;
using fb::data::Segment;
using flatbuffers::Offset;

// The header's bytes that count, and those that it takes up: a multiple of the FlatBuffer's largest alignment.
constexpr uint64_t kHeaderCounts = 40;
constexpr uint64_t kHeaderTakes = 48;
constexpr size_t kHeaderAt = 8;

struct Range {
  uint64_t offset = 0;  // from the start of the segment area
  uint64_t size = 0;
};

struct Layout {
  std::vector<Range> segments;
  std::vector<uint32_t> segment_of;  // each blob
  uint64_t bytes = 0;
};

Layout layout_of(const DataFileDesc& file) {
  Layout layout;
  for (const DataBlobDesc& blob : file.blobs) {
    if (blob.shares >= 0) {
      layout.segment_of.push_back(layout.segment_of[blob.shares]);
      continue;
    }
    const uint64_t offset = align_up<uint64_t>(layout.bytes, file.alignment);
    layout.segment_of.push_back(static_cast<uint32_t>(layout.segments.size()));
    layout.segments.push_back({offset, blob.bytes.size});
    layout.bytes = offset + blob.bytes.size;
  }
  return layout;
}

void build_tables(const DataFileDesc& file, const Layout& layout, flatbuffers::FlatBufferBuilder& builder) {
  std::vector<Offset<Segment>> segments;
  for (const Range& range : layout.segments) {
    segments.push_back(fb::data::CreateSegment(builder, range.offset, range.size));
  }
  std::vector<Offset<Blob>> blobs;
  for (size_t i = 0; i < file.blobs.size(); ++i) {
    const DataBlobDesc& blob = file.blobs[i];
    const auto tensor = fb::data::CreateLayout(builder, static_cast<int8_t>(blob.dtype),
                                               builder.CreateVector(blob.sizes), builder.CreateVector(blob.dim_order));
    blobs.push_back(fb::data::CreateBlob(builder, builder.CreateString(blob.key), layout.segment_of[i], tensor));
  }
  const auto all_segments = builder.CreateVector(segments);
  const auto all_blobs = builder.CreateVector(blobs);
  fb::data::FinishDataFileBuffer(builder, fb::data::CreateDataFile(builder, 0, all_segments, all_blobs));
}

// Offsets in a FlatBuffer are relative, so only that of the root changes when the header goes in behind its identifier.
std::vector<uint8_t> with_header(Span<const uint8_t> tables, uint64_t segment_base, uint64_t segment_bytes) {
  std::vector<uint8_t> bytes(tables.size() + kHeaderTakes);
  std::memcpy(bytes.data(), tables.data(), kHeaderAt);
  std::memcpy(bytes.data() + kHeaderAt + kHeaderTakes, tables.data() + kHeaderAt, tables.size() - kHeaderAt);
  put(bytes, 0, flatbuffers::ReadScalar<uint32_t>(tables.data()) + kHeaderTakes, 4);
  std::memcpy(bytes.data() + kHeaderAt, "FH01", 4);
  put(bytes, 12, kHeaderCounts, 4);
  put(bytes, 16, kHeaderTakes, 8);
  put(bytes, 24, tables.size(), 8);
  put(bytes, 32, segment_base, 8);
  put(bytes, 40, segment_bytes, 8);
  return bytes;
}

}  // namespace

Status write_data_file(const DataFileDesc& file, const Sink& sink) {
  if (!is_power_of_two(file.alignment)) {
    return Failure{Error::kInvalidArgument, "data file",
                   "its alignment must be a power of two, found " + std::to_string(file.alignment)};
  }
  const Layout layout = layout_of(file);
  flatbuffers::FlatBufferBuilder builder(1024);
  build_tables(file, layout, builder);
  const uint64_t base = align_up<uint64_t>(builder.GetSize() + kHeaderTakes, file.alignment);
  const std::vector<uint8_t> tables = with_header({builder.GetBufferPointer(), builder.GetSize()}, base, layout.bytes);
  Cursor cursor(sink);
  BERTH_TRY(cursor.write({tables.data(), tables.size()}));
  for (size_t i = 0; i < file.blobs.size(); ++i) {
    const DataBlobDesc& blob = file.blobs[i];
    if (blob.shares >= 0) continue;
    BERTH_TRY(cursor.pad_to(base + layout.segments[layout.segment_of[i]].offset));
    BERTH_TRY(cursor.write(blob.bytes, "data \"" + blob.key + "\""));
  }
  return cursor.pad_to(base + layout.bytes);
}

}  // namespace berth::format
