#include "format/write/segment_layout.h"

#include <algorithm>

#include "base/math.h"

namespace berth::format {
namespace {

int append(SegmentLayout& layout, uint64_t size, uint64_t alignment) {
  const uint64_t offset = align_up(layout.bytes, alignment);
  layout.segments.push_back({offset, size});
  layout.bytes = std::max(layout.bytes, offset + size);
  return static_cast<int>(layout.segments.size() - 1);
}

/// The offsets of `blobs`, one after another, each aligned, after the placeholder's; `*end` is the end of the last.
std::vector<uint64_t> pack(const std::vector<Bytes>& blobs, uint64_t alignment, uint64_t* end) {
  std::vector<uint64_t> offsets = {0};
  *end = 0;
  for (const Bytes& blob : blobs) {
    offsets.push_back(align_up(*end, alignment));
    *end = offsets.back() + blob.size;
  }
  return offsets;
}

}  // namespace

SegmentLayout layout_segments(const ProgramDesc& program) {
  SegmentLayout layout;
  const uint64_t alignment = program.segment_alignment;
  uint64_t end = 0;

  layout.constant_offsets = pack(program.constants, program.constant_alignment, &end);
  append(layout, end, std::max<uint64_t>(alignment, program.constant_alignment));
  if (!program.initial_values.empty()) {
    // They are copied at load and need no alignment.
    layout.initial_value_offsets = pack(program.initial_values, 1, &end);
    layout.initial_value_segment = append(layout, end, alignment);
  }
  for (const Bytes& payload : program.payloads) {
    layout.payload_segments.push_back(payload.size == 0 ? -1 : append(layout, payload.size, alignment));
  }
  for (const NamedDataDesc& blob : program.named_data) {
    if (blob.shares >= 0) {
      layout.named_data_segments.push_back(layout.named_data_segments[blob.shares]);
      continue;
    }
    layout.named_data_segments.push_back(
        append(layout, blob.bytes.size, std::max<uint64_t>(alignment, blob.alignment)));
  }
  return layout;
}

}  // namespace berth::format
