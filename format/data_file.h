// The header of a data file (.ptd), and its FlatBuffer (format/data_file.fbs).
//
//   bytes 0..3    offset of the root table          \  the FlatBuffer's own prefix
//   bytes 4..7    file identifier, "FT01"           /
//   bytes 8..11   "FH01"
//   bytes 12..15  u32  bytes of header that count, from byte 8: 40, or more (the rest is ignored)
//   bytes 16..23  u64  bytes that the header was padded to
//   bytes 24..31  u64  bytes of the FlatBuffer without the header
//   bytes 32..39  u64  where the segment area starts in the file
//   bytes 40..47  u64  size of the segment area
//
// Source: ExecuTorch 1.5's `extension/flat_tensor`; all numbers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "base/span.h"
#include "format/report.h"

namespace berth {
namespace fb::data {
struct DataFile;
}

namespace format {

/// Bytes at the start of a file that hold everything parse_data_layout() reads.
constexpr size_t kDataHeadBytes = 48;

struct DataLayout {
  /// Bytes of the FlatBuffer from the start of the file, header included.
  uint64_t flatbuffer_size = 0;
  uint64_t segment_base = 0;
  uint64_t segment_bytes = 0;
};

/// Reads the layout from the first bytes of a file of `file_size` bytes and checks it against that size.
/// InvalidExternalData, with a report (may be null), if it is invalid. REQUIRES: head.size() >= min(file_size,
/// kDataHeadBytes).
Error parse_data_layout(Span<const uint8_t> head, uint64_t file_size, DataLayout* layout, Report* report);

/// Verifies `bytes`, the first layout.flatbuffer_size bytes of the file, aligned to 16, and sets `*file` to the root
/// table. Every index, range, key and layout in it may then be used without checks. InvalidExternalData if the file is
/// invalid.
Error verify_data_file(Span<const uint8_t> bytes, const DataLayout& layout, const fb::data::DataFile** file,
                       Report* report);

}  // namespace format
}  // namespace berth
