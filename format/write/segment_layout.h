// The position of each blob of a program in the segment area.
#pragma once

#include <cstdint>
#include <vector>

#include "format/write/program_desc.h"

namespace berth::format {

/// Offsets are relative to the segment area's start.
struct SegmentSpan {
  uint64_t offset = 0;
  uint64_t size = 0;
};

struct SegmentLayout {
  /// Program.segments, in order.
  std::vector<SegmentSpan> segments;
  /// Of each constant, from the start of segment 0; the first entry is the placeholder for "none".
  std::vector<uint64_t> constant_offsets;
  /// The same for initial values; empty when there are none.
  std::vector<uint64_t> initial_value_offsets;
  /// The segment of the initial values; -1: none.
  int initial_value_segment = -1;
  /// The segment of each payload; -1 for an empty one.
  std::vector<int> payload_segments;
  /// The segment of each named-data entry.
  std::vector<int> named_data_segments;
  /// End of the last segment.
  uint64_t bytes = 0;
};

/// REQUIRES: alignments are powers of two.
SegmentLayout layout_segments(const ProgramDesc& program);

}  // namespace berth::format
