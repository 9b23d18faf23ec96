// replace_places(): a program file whose planned tensors lie elsewhere, and nothing else changed.
//
// FlatBuffers leaves out what has its default, an offset of 0 among it, so a table cannot be patched: the tables are
// copied field by field as the schema has them. A file with a field that the schema has not is refused, as its meaning
// would be lost. Segments keep their bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "base/failure.h"
#include "base/span.h"

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

/// `methods` has an entry for each method of `file`. NotSupported, with the table's name, for a file with a field that
/// is not known here. InvalidArgument for a place of a value that is not planned. REQUIRES: the file was verified.
Expected<std::vector<uint8_t>> replace_places(Span<const uint8_t> file, const std::vector<MethodPlaces>& methods);

}  // namespace berth::format
