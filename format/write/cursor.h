// Cursor: a sink that counts its bytes, for writers of files with parts at fixed positions.
#pragma once

#include <algorithm>
#include <string>

#include "format/write/sink.h"

namespace berth::format {

class Cursor {
 public:
  /// The sink must outlive this.
  explicit Cursor(const Sink& sink) : sink_(sink) {}

  Status write(Span<const uint8_t> bytes) {
    position_ += bytes.size();
    return bytes.empty() ? Status(Done()) : sink_(bytes);
  }

  /// Zeros up to `position`.
  Status pad_to(uint64_t position) {
    static constexpr uint8_t kZeros[4096] = {};
    while (position_ < position) {
      const uint64_t count = std::min<uint64_t>(position - position_, sizeof kZeros);
      BERTH_TRY(write({kZeros, static_cast<size_t>(count)}));
    }
    return Done();
  }

  /// Internal when the blob writes another number of bytes than its size; `what` is the place.
  Status write(const Bytes& blob, const std::string& what) {
    if (blob.size == 0) return Done();
    const uint64_t end = position_ + blob.size;
    BERTH_TRY(blob.write([this, end](Span<const uint8_t> bytes) -> Status {
      if (bytes.size() > end - position_) return Failure{Error::kInternal, "", "a blob wrote more bytes than its size"};
      return write(bytes);
    }));
    if (position_ == end) return Done();
    return Failure{Error::kInternal, what, "the blob wrote fewer bytes than its size"};
  }

 private:
  const Sink& sink_;
  uint64_t position_ = 0;
};

}  // namespace berth::format
