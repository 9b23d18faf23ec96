// The extended header of a program file, which locates the FlatBuffer's end and the segments.
//
//   bytes 0..3    offset of the root table          \  the FlatBuffer's own prefix
//   bytes 4..7    file identifier, "ET12"           /
//   bytes 8..11   "eh00"; otherwise there is no extended header
//   bytes 12..15  u32  bytes of header that count, from byte 8: 24 (older files), 32, or more (the rest is ignored)
//   bytes 16..23  u64  program_size: the FlatBuffer with this header, from byte 0
//   bytes 24..31  u64  segment_base: where the segment area starts in the file; 0: there is none
//   bytes 32..39  u64  segment_bytes: size of the segment area; not in a header of 24 bytes
//
// Source: ExecuTorch 1.5's `runtime/executor`; all numbers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "base/span.h"
#include "format/report.h"

namespace berth::format {

/// The number of bytes that parse_layout() reads; no program is shorter.
constexpr size_t kHeadBytes = 64;

/// The offset of the extended header, and its size in the files that Berth writes.
constexpr size_t kHeaderOffset = 8;
constexpr uint32_t kHeaderBytes = 32;
constexpr uint32_t kOldHeaderBytes = 24;

constexpr char kIdentifier[] = "ET12";
constexpr char kHeaderMagic[] = "eh00";

/// The address of a program in memory must be a multiple of this.
constexpr size_t kProgramAlignment = 16;

struct FileLayout {
  /// Bytes of the FlatBuffer from the start of the file, header included.
  uint64_t program_size = 0;
  /// Start of the segment area in the file; 0 when there is none.
  uint64_t segment_base = 0;
  /// Bytes of the segment area. Headers of 24 bytes do not record it: it then extends to the end of the file.
  uint64_t segment_bytes = 0;
  /// Bytes of the extended header that count; 0 when there is none.
  uint32_t header_bytes = 0;
};

/// Reads the layout from the first kHeadBytes of a file of `file_size` bytes, and checks that [0, program_size) and
/// [segment_base, segment_base + segment_bytes) lie inside the file and do not overlap.
///
/// InvalidProgram, with a report, if it is invalid. REQUIRES: head.size() >= min(file_size, kHeadBytes).
Error parse_layout(Span<const uint8_t> head, uint64_t file_size, FileLayout* layout, Report* report);

}  // namespace berth::format
