#include "format/data_file.h"

#include <cinttypes>
#include <cstring>

#include "base/dtype.h"
#include "base/math.h"
#include "base/result.h"
#include "format/data_schema.h"
#include "format/little_endian.h"
#include "format/program_view.h"
#include "format/tensor_facts.h"

namespace berth::format {
namespace {

constexpr Error kWrong = Error::kInvalidExternalData;
constexpr uint32_t kHeaderLength = 40;

Error verify_layout(const fb::data::Layout& layout, uint64_t bytes, uint32_t index, Report* report) {
  uint64_t expected = 0;
  const uint32_t rank = length(layout.sizes());
  bool good = is_valid_dtype(layout.scalar_type()) && rank <= kMaxRank && length(layout.dim_order()) == rank;
  if (good) expected = element_size(static_cast<DType>(layout.scalar_type()));
  for (uint32_t i = 0; good && i < rank; ++i) {
    const int32_t size = layout.sizes()->Get(i);
    good = size >= 0 && checked_mul(expected, static_cast<uint64_t>(size), &expected);
  }
  if (good && expected <= bytes) return Error::kOk;
  char place[32];
  std::snprintf(place, sizeof place, "blobs[%u]", index);
  return fail(report, kWrong, place, "the tensor's type and sizes do not match its %" PRIu64 " bytes", bytes);
}

Error verify_blob(const fb::data::DataFile& file, const DataLayout& layout, uint32_t index, Report* report) {
  const fb::data::Blob* blob = file.blobs()->Get(index);
  char place[32];
  std::snprintf(place, sizeof place, "blobs[%u]", index);
  if (text(blob->key())[0] == '\0') return fail(report, kWrong, place, "the blob has no key");
  if (blob->segment_index() >= length(file.segments())) {
    return fail(report, kWrong, place, "segment %u does not exist; there are %u", blob->segment_index(),
                length(file.segments()));
  }
  const fb::data::Segment& segment = *file.segments()->Get(blob->segment_index());
  uint64_t end = 0;
  if (!checked_add(segment.offset(), segment.size(), &end) || end > layout.segment_bytes) {
    return fail(report, kWrong, place, "segment %u is outside of the segment area", blob->segment_index());
  }
  return blob->layout() == nullptr ? Error::kOk : verify_layout(*blob->layout(), segment.size(), index, report);
}

}  // namespace

Error parse_data_layout(Span<const uint8_t> head, uint64_t file_size, DataLayout* layout, Report* report) {
  constexpr const char* kPlace = "header";
  if (head.size() < kDataHeadBytes || std::memcmp(head.data() + 4, "FT01", 4) != 0 ||
      std::memcmp(head.data() + 8, "FH01", 4) != 0) {
    return fail(report, kWrong, kPlace, "not a data file: bytes 4 to 11 should be \"FT01FH01\"");
  }
  const uint32_t length = little_endian<uint32_t>(head.data() + 12);
  if (length < kHeaderLength) {
    return fail(report, kWrong, kPlace, "%u bytes of header, %u are needed", length, kHeaderLength);
  }
  const uint64_t inserted = little_endian<uint64_t>(head.data() + 16);
  const uint64_t size = little_endian<uint64_t>(head.data() + 24);
  layout->segment_base = little_endian<uint64_t>(head.data() + 32);
  layout->segment_bytes = little_endian<uint64_t>(head.data() + 40);
  uint64_t end = 0;
  if (!checked_add(inserted, size, &layout->flatbuffer_size) || layout->flatbuffer_size > file_size ||
      layout->flatbuffer_size < kDataHeadBytes || layout->flatbuffer_size >= FLATBUFFERS_MAX_BUFFER_SIZE ||
      !checked_add(layout->segment_base, layout->segment_bytes, &end) || end > file_size) {
    return fail(report, kWrong, kPlace,
                "%" PRIu64 " bytes of tables and %" PRIu64 " of segments from %" PRIu64
                " on are not inside a file of %" PRIu64 " bytes; it may be truncated",
                layout->flatbuffer_size, layout->segment_bytes, layout->segment_base, file_size);
  }
  return Error::kOk;
}

Error verify_data_file(Span<const uint8_t> bytes, const DataLayout& layout, const fb::data::DataFile** file,
                       Report* report) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % 16 != 0) {
    return fail(report, kWrong, "file", "its address in memory must be a multiple of 16");
  }
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), 8, static_cast<flatbuffers::uoffset_t>(bytes.size() / 8));
  if (!fb::data::VerifyDataFileBuffer(verifier)) {
    return fail(report, kWrong, "file", "an offset or a length inside the FlatBuffer is wrong; the file is damaged");
  }
  const fb::data::DataFile* root = fb::data::GetDataFile(bytes.data());
  for (uint32_t i = 0; i < length(root->blobs()); ++i) {
    BERTH_RETURN_IF_ERROR(verify_blob(*root, layout, i, report));
  }
  *file = root;
  return Error::kOk;
}

}  // namespace berth::format
