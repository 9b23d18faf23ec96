#include <cinttypes>

#include "base/result.h"
#include "format/verify_parts.h"

namespace berth::format::internal {
namespace {

Error verify_offsets(const Spot& spot, const fb::SubsegmentOffsets& table) {
  uint64_t start = 0;
  uint64_t size = 0;
  if (spot.program->segment_range(table.segment_index(), &start, &size) != Error::kOk) {
    return spot.fail(Error::kInvalidProgram, "segment %u does not exist; there are %u", table.segment_index(),
                     length(spot.program->root().segments()));
  }
  if (!is_aligned(table.offsets())) return spot.fail(Error::kInvalidProgram, "the list of offsets is not aligned");
  BERTH_RETURN_IF_ERROR(spot.spend(length(table.offsets())));
  for (uint32_t i = 0; i < length(table.offsets()); ++i) {
    if (table.offsets()->Get(i) <= size) continue;
    return spot.fail(Error::kInvalidProgram, "offsets[%u] is %" PRIu64 ", its segment has %" PRIu64 " bytes", i,
                     table.offsets()->Get(i), size);
  }
  return Error::kOk;
}

Error verify_constants(const Spot& spot) {
  const fb::Program& root = spot.program->root();
  const fb::SubsegmentOffsets* table = root.constant_segment();
  if (table != nullptr && !is_aligned(table->offsets())) {
    return spot.at("constant_segment").fail(Error::kInvalidProgram, "the list of offsets is not aligned");
  }
  // A single entry is the placeholder: there are no constants, and the segment need not exist.
  if (table == nullptr || length(table->offsets()) < 2) return Error::kOk;
  if (length(root.constant_buffer()) > 0) {
    return spot.at("constant_buffer")
        .fail(Error::kInvalidProgram, "constants are both in a segment and inside the program");
  }
  return verify_offsets(spot.at("constant_segment"), *table);
}

Error verify_named_data(const Spot& spot) {
  const auto* entries = spot.program->root().named_data();
  const uint32_t segments = length(spot.program->root().segments());
  for (uint32_t i = 0; i < length(entries); ++i) {
    const fb::NamedData* entry = entries->Get(i);
    if (entry->key() == nullptr) return spot.at("named_data", i).fail(Error::kInvalidProgram, "the blob has no name");
    if (entry->segment_index() >= segments) {
      return spot.at("named_data", i)
          .fail(Error::kInvalidProgram, "segment %u does not exist; there are %u", entry->segment_index(), segments);
    }
  }
  return Error::kOk;
}

}  // namespace

Error verify_segments(const Spot& spot) {
  const fb::Program& root = spot.program->root();
  for (uint32_t i = 0; i < length(root.segments()); ++i) {
    uint64_t offset = 0;
    uint64_t size = 0;
    if (spot.program->segment_range(i, &offset, &size) == Error::kOk) continue;
    const fb::DataSegment* entry = root.segments()->Get(i);
    return spot.at("segments", i)
        .fail(Error::kInvalidProgram,
              "%" PRIu64 " bytes at offset %" PRIu64 " are not inside the segment area of %" PRIu64 " bytes",
              entry->size(), entry->offset(), spot.program->layout().segment_bytes);
  }
  BERTH_RETURN_IF_ERROR(verify_constants(spot));
  for (uint32_t i = 0; i < length(root.mutable_data_segments()); ++i) {
    BERTH_RETURN_IF_ERROR(verify_offsets(spot.at("mutable_data_segments", i), *root.mutable_data_segments()->Get(i)));
  }
  return verify_named_data(spot);
}

}  // namespace berth::format::internal
