// replace_places(): a program file whose planned tensors lie elsewhere, and nothing else changed.
//
// FlatBuffers leaves out what has its default, an offset of 0 among it, so a table cannot be patched: the tables are
// copied field by field as the schema has them. A file with a field that the schema has not is refused, as its meaning
// would be lost. Segments keep their bytes, and are not copied: a program of 100 MB costs memory for its tables.
#pragma once

#include <cstdint>
#include <vector>

#include "base/failure.h"
#include "base/span.h"
#include "format/write/sink.h"

namespace berth::format {

/// What changes in one method.
struct MethodPlaces {
  struct Place {
    int32_t value = 0;    // index into the method's values: a planned tensor
    uint64_t offset = 0;  // in its arena, as before
  };
  std::vector<Place> places;
  /// Bytes of each arena: entry 0 is arena 1. As many as the method has.
  std::vector<uint64_t> arena_bytes;
};

/// A program file in two pieces.
struct ReplacedProgram {
  /// The tables with their header, and zeros up to where the segments start.
  std::vector<uint8_t> head;
  /// The segment area of the file that it was made from, which must stay where it is. Empty when there is none.
  Span<const uint8_t> segments;

  uint64_t size() const { return head.size() + segments.size(); }
  /// Both pieces, one after the other.
  Status write(const Sink& sink) const;
};

/// `methods` has an entry for each method of `file`. NotSupported, with the table's name, for a file with a field that
/// is not known here, in its header too. InvalidArgument for a place of a value that is not planned. OutOfResources for
/// a file whose tables share others so often that the copy would be many times as large. REQUIRES: the file was
/// verified.
Expected<ReplacedProgram> replace_places(Span<const uint8_t> file, const std::vector<MethodPlaces>& methods);

}  // namespace berth::format
