// What the buffers of a body together ask of its offset.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/memory/packing/problem.h"

namespace berth::packing {

/// Which offsets a body may have.
struct AllowedOffsets {
  int64_t alignment = 1;
  int64_t shift = 0;          // of the buffer that is aligned: body + shift is a multiple of alignment
  int64_t fixed = kAnywhere;  // of that buffer
  int64_t lowest = 0;         // what that buffer's offset is at least, so that no buffer of the body lies below 0
};

/// Shifts and the fixed offset are seen from the body's first buffer.
struct BodyConstraints {
  int64_t alignment = 0;  // the largest
  int64_t shift = 0;      // of the buffer that has it
  int64_t least_shift = 0;
  bool any_fixed = false;
  int64_t fixed = 0;
  bool possible = true;

  /// Of one buffer with this alignment and fixed offset (kAnywhere: none), `shift` bytes from the body's first.
  static BodyConstraints of_buffer(int64_t alignment, int64_t shift, int64_t fixed);

  /// Of these buffers and those of `other`, which is moved by so many bytes.
  BodyConstraints joined(const BodyConstraints& other, int64_t moved_by) const;

  /// Nothing when no offset suits all buffers.
  std::optional<AllowedOffsets> offsets() const;
};

}  // namespace berth::packing
