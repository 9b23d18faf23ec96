#include "format/header.h"

#include <cinttypes>
#include <cstring>

#include "base/math.h"
#include "base/result.h"
#include "format/little_endian.h"

namespace berth::format {
namespace {

Error check_identifier(const uint8_t* bytes, Report* report) {
  if (std::memcmp(bytes + 4, kIdentifier, 4) == 0) return Error::kOk;
  if (std::memcmp(bytes + 4, "ET", 2) == 0) {
    return fail(report, Error::kInvalidProgram, "header",
                "the file's format is ET%c%c, this reader supports ET12; export the program again",
                bytes[6] >= ' ' && bytes[6] < 127 ? bytes[6] : '?', bytes[7] >= ' ' && bytes[7] < 127 ? bytes[7] : '?');
  }
  return fail(report, Error::kInvalidProgram, "header", "not a program: bytes 4 to 7 should be \"ET12\"");
}

/// Checks that the sizes in the header fit into the file.
Error check_sizes(const FileLayout& layout, uint64_t file_size, Report* report) {
  if (layout.program_size > file_size || layout.program_size < kHeaderOffset + layout.header_bytes) {
    return fail(report, Error::kInvalidProgram, "header",
                "program_size is %" PRIu64 ", the file has %" PRIu64 " bytes; it may be truncated", layout.program_size,
                file_size);
  }
  if (layout.segment_base == 0) {
    if (layout.segment_bytes == 0) return Error::kOk;
    return fail(report, Error::kInvalidProgram, "header", "%" PRIu64 " bytes of segments but no segment area",
                layout.segment_bytes);
  }
  uint64_t end = 0;
  if (!checked_add(layout.segment_base, layout.segment_bytes, &end) || end > file_size) {
    return fail(report, Error::kInvalidProgram, "header",
                "segments take %" PRIu64 " bytes from %" PRIu64 " on, the file has %" PRIu64 "; it may be truncated",
                layout.segment_bytes, layout.segment_base, file_size);
  }
  if (layout.segment_base < layout.program_size) {
    return fail(report, Error::kInvalidProgram, "header",
                "segments start at %" PRIu64 ", inside the program, which ends at %" PRIu64, layout.segment_base,
                layout.program_size);
  }
  return Error::kOk;
}

}  // namespace

Error parse_layout(Span<const uint8_t> head, uint64_t file_size, FileLayout* layout, Report* report) {
  if (file_size < kHeadBytes || head.size() < kHeadBytes) {
    return fail(report, Error::kInvalidProgram, "header",
                "the file has %" PRIu64 " bytes, no program has fewer than %zu; it may be truncated", file_size,
                kHeadBytes);
  }
  const uint8_t* bytes = head.data();
  BERTH_RETURN_IF_ERROR(check_identifier(bytes, report));

  FileLayout found;
  if (std::memcmp(bytes + kHeaderOffset, kHeaderMagic, 4) != 0) {
    found.program_size = file_size;
    *layout = found;
    return Error::kOk;
  }
  found.header_bytes = little_endian<uint32_t>(bytes + 12);
  if (found.header_bytes < kOldHeaderBytes) {
    return fail(report, Error::kInvalidProgram, "header", "the extended header has %u bytes, at least %u are needed",
                found.header_bytes, kOldHeaderBytes);
  }
  found.program_size = little_endian<uint64_t>(bytes + 16);
  found.segment_base = little_endian<uint64_t>(bytes + 24);
  if (found.header_bytes >= kHeaderBytes) {
    found.segment_bytes = little_endian<uint64_t>(bytes + 32);
  } else if (found.segment_base != 0 && found.segment_base <= file_size) {
    found.segment_bytes = file_size - found.segment_base;
  }
  BERTH_RETURN_IF_ERROR(check_sizes(found, file_size, report));
  *layout = found;
  return Error::kOk;
}

}  // namespace berth::format
