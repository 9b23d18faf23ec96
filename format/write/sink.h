// Sink and Bytes: stream a program from the source of its constants, usually the mapped model file, to a file or to
// memory, without copying all of it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/failure.h"
#include "base/span.h"

namespace berth::format {

/// Takes the next bytes; a Failure ends the writing.
using Sink = std::function<Status(Span<const uint8_t>)>;

/// Bytes that are produced on demand. `write` passes exactly `size` bytes to the sink, in any number of pieces, and
/// must produce the same bytes each time.
struct Bytes {
  uint64_t size = 0;
  std::function<Status(const Sink&)> write;

  /// Owns `bytes`.
  static Bytes of(std::vector<uint8_t> bytes);
  /// Refers to `bytes`, which must live until the program is written.
  static Bytes borrowed(Span<const uint8_t> bytes);
};

/// A sink that appends to `out`.
Sink append_to(std::vector<uint8_t>* out);

/// The low `width` bytes of `value`, little-endian, into `bytes` from `at` on. REQUIRES: at + width <= bytes.size().
void put(std::vector<uint8_t>& bytes, size_t at, uint64_t value, size_t width);

}  // namespace berth::format
