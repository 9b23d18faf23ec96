// replace_offsets(): changes the offsets of a program file's planned tensors, and nothing else.
//
// FlatBuffers omits fields with default values, such as an offset of 0, so tables cannot be patched in place; they are
// copied field by field, according to the schema. A file with a field that the schema does not have is refused, since
// the field would be lost. Segments are not copied, so a program of 100 MB needs memory only for its tables.
#pragma once

#include <cstdint>
#include <vector>

#include "base/failure.h"
#include "base/span.h"
#include "format/write/sink.h"

namespace berth::format {

/// The changes to a method.
struct MethodOffsets {
  struct Entry {
    int32_t value = 0;    // index into the method's values: a planned tensor
    uint64_t offset = 0;  // in the same arena as before
  };
  std::vector<Entry> entries;
  /// Bytes of each arena: entry 0 is arena 1. As many as the method has.
  std::vector<uint64_t> arena_bytes;
};

/// A program file in two parts.
struct ReplacedProgram {
  /// The tables with their header, padded with zeros up to the segments.
  std::vector<uint8_t> head;
  /// The segment area of the original file, which must outlive this. May be empty.
  Span<const uint8_t> segments;

  uint64_t size() const { return head.size() + segments.size(); }
  /// Writes both parts.
  Status write(const Sink& sink) const;
};

/// `methods` has an entry for each method of `file`. NotSupported, with the table's name, for a file with an unknown
/// field in a table or in the header. InvalidArgument for an offset of a value that is not planned. OutOfResources for
/// a file whose tables share others so often that the copy would be many times larger. REQUIRES: verify_program()
/// accepted the file.
Expected<ReplacedProgram> replace_offsets(Span<const uint8_t> file, const std::vector<MethodOffsets>& methods);

}  // namespace berth::format
