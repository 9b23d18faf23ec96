// Sink and Bytes: how a program streams from where its constants are (the mapped model file, mostly) to where it goes
// (a file, memory) without a copy of it all.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/failure.h"
#include "base/span.h"

namespace berth::format {

/// Takes the next bytes; a Failure ends the writing.
using Sink = std::function<Status(Span<const uint8_t>)>;

/// Some bytes that are made when they are wanted. `write` is called once a program is written, hands exactly `size`
/// bytes to the sink in as many pieces as it likes, and must give the same bytes each time.
struct Bytes {
  uint64_t size = 0;
  std::function<Status(const Sink&)> write;

  /// `bytes`, kept.
  static Bytes of(std::vector<uint8_t> bytes);
  /// `bytes`, which the caller keeps alive until the program is written.
  static Bytes borrowed(Span<const uint8_t> bytes);
};

/// Appends to `out`.
Sink append_to(std::vector<uint8_t>* out);

}  // namespace berth::format
