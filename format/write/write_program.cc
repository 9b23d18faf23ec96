#include "format/write/write_program.h"

#include <algorithm>
#include <cstring>

#include "base/math.h"
#include "format/header.h"
#include "format/write/build_tables.h"
#include "format/write/cursor.h"

namespace berth::format {
namespace {

/// The format's limit is 2 GiB; the estimate may be too low by a factor of up to 4.
constexpr uint64_t kMaxTableBytes = uint64_t{512} << 20;

Status check_alignments(const ProgramDesc& program) {
  const auto good = [](uint32_t alignment) { return is_power_of_two(alignment) && alignment <= (1u << 30); };
  bool all_good = good(program.constant_alignment) && good(program.segment_alignment);
  for (const NamedDataDesc& blob : program.named_data) all_good = all_good && good(blob.alignment);
  if (all_good) return Done();
  return Failure{Error::kInvalidArgument, "program",
                 "alignments must be powers of two up to 2^30; constants have " +
                     std::to_string(program.constant_alignment) + ", segments " +
                     std::to_string(program.segment_alignment)};
}

std::string on_device(Device device) { return to_text(device).text; }

/// The file records the device of a tensor and that of its arena; readers refuse files in which they differ.
Status check_arena(const MethodDesc& method, const TensorDesc& tensor, const std::string& where) {
  const size_t id = tensor.planned->memory_id;
  const size_t arenas = std::max<size_t>(method.arenas.size(), 1);
  if (id < 1 || id > arenas) {
    return Failure{Error::kInvalidArgument, where,
                   "arena " + std::to_string(id) + " does not exist; there are arenas 1 to " + std::to_string(arenas)};
  }
  const Device arena = method.arenas.empty() ? Device() : method.arenas[id - 1].device;
  if (arena == tensor.device) return Done();
  return Failure{
      Error::kInvalidArgument, where,
      "the tensor is on " + on_device(tensor.device) + ", its arena " + std::to_string(id) + " on " + on_device(arena)};
}

/// The FlatBuffer with the extended header inserted after its first 8 bytes. Offsets in a FlatBuffer are relative, so
/// only that of the root changes.
std::vector<uint8_t> with_header(const uint8_t* tables, size_t size, uint64_t segment_bytes, uint64_t segment_alignment,
                                 uint64_t* segment_base) {
  // A multiple of the largest alignment inside the FlatBuffer, which is 16.
  constexpr size_t kInserted = kHeaderBytes;
  std::vector<uint8_t> bytes(size + kInserted);
  std::memcpy(bytes.data(), tables, kHeaderOffset);
  std::memcpy(bytes.data() + kHeaderOffset + kInserted, tables + kHeaderOffset, size - kHeaderOffset);
  *segment_base = align_up<uint64_t>(bytes.size(), segment_alignment);
  put(bytes, 0, flatbuffers::ReadScalar<uint32_t>(tables) + kInserted, 4);
  std::memcpy(bytes.data() + kHeaderOffset, kHeaderMagic, 4);
  put(bytes, 12, kHeaderBytes, 4);
  put(bytes, 16, bytes.size(), 8);
  put(bytes, 24, *segment_base, 8);
  put(bytes, 32, segment_bytes, 8);
  return bytes;
}

Status write_segments(const ProgramDesc& program, const SegmentLayout& layout, uint64_t base, Cursor& cursor) {
  const auto start = [&](int segment) { return base + layout.segments[segment].offset; };
  for (size_t i = 0; i < program.constants.size(); ++i) {
    BERTH_TRY(cursor.pad_to(start(0) + layout.constant_offsets[i + 1]));
    BERTH_TRY(cursor.write(program.constants[i], "constants[" + std::to_string(i + 1) + "]"));
  }
  for (size_t i = 0; i < program.initial_values.size(); ++i) {
    BERTH_TRY(cursor.pad_to(start(layout.initial_value_segment) + layout.initial_value_offsets[i + 1]));
    BERTH_TRY(cursor.write(program.initial_values[i], "initial_values[" + std::to_string(i + 1) + "]"));
  }
  for (size_t i = 0; i < program.payloads.size(); ++i) {
    if (layout.payload_segments[i] < 0) continue;
    BERTH_TRY(cursor.pad_to(start(layout.payload_segments[i])));
    BERTH_TRY(cursor.write(program.payloads[i], "payloads[" + std::to_string(i) + "]"));
  }
  for (size_t i = 0; i < program.named_data.size(); ++i) {
    if (program.named_data[i].shares >= 0) continue;
    BERTH_TRY(cursor.pad_to(start(layout.named_data_segments[i])));
    BERTH_TRY(cursor.write(program.named_data[i].bytes, "named data \"" + program.named_data[i].key + "\""));
  }
  return cursor.pad_to(base + layout.bytes);
}

}  // namespace

Status check_arenas(const ProgramDesc& program) {
  for (const MethodDesc& method : program.methods) {
    for (size_t v = 0; v < method.values.size(); ++v) {
      const auto* tensor = std::get_if<TensorDesc>(&method.values[v]);
      if (tensor == nullptr || !tensor->planned.has_value()) continue;
      BERTH_TRY(check_arena(method, *tensor, "method " + method.name + ": values[" + std::to_string(v) + "]"));
    }
  }
  return Done();
}

Status write_program(const ProgramDesc& program, const Sink& sink) {
  BERTH_TRY(check_alignments(program));
  const uint64_t estimate = estimate_table_bytes(program);
  if (estimate > kMaxTableBytes) {
    return Failure{Error::kNotSupported, "program",
                   "its tables would take about " + std::to_string(estimate >> 20) +
                       " MiB, the format's limit is near; split the model into several programs"};
  }
  const SegmentLayout layout = layout_segments(program);
  flatbuffers::FlatBufferBuilder builder(static_cast<size_t>(std::max<uint64_t>(estimate, 1024)));
  build_tables(program, layout, builder);

  Cursor cursor(sink);
  if (layout.bytes == 0) return cursor.write({builder.GetBufferPointer(), builder.GetSize()});
  uint64_t segment_base = 0;
  const std::vector<uint8_t> tables = with_header(builder.GetBufferPointer(), builder.GetSize(), layout.bytes,
                                                  program.segment_alignment, &segment_base);
  BERTH_TRY(cursor.write({tables.data(), tables.size()}));
  return write_segments(program, layout, segment_base, cursor);
}

Expected<std::vector<uint8_t>> program_bytes(const ProgramDesc& program) {
  std::vector<uint8_t> bytes;
  BERTH_TRY(write_program(program, append_to(&bytes)));
  return bytes;
}

}  // namespace berth::format
