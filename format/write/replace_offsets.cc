#include "format/write/replace_offsets.h"

#include <flatbuffers/reflection_generated.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "base/math.h"
#include "format/header.h"
#include "format/program_view.h"
#include "format/schema/program_bfbs_generated.h"

namespace berth::format {
namespace {

using flatbuffers::Table;
using flatbuffers::uoffset_t;
using flatbuffers::voffset_t;
using reflection::BaseType;
using reflection::Field;
using reflection::Object;

size_t scalar_size(BaseType type) {
  switch (type) {
    case BaseType::UType:
    case BaseType::Bool:
    case BaseType::Byte:
    case BaseType::UByte: return 1;
    case BaseType::Short:
    case BaseType::UShort: return 2;
    case BaseType::Int:
    case BaseType::UInt:
    case BaseType::Float: return 4;
    case BaseType::Long:
    case BaseType::ULong:
    case BaseType::Double: return 8;
    default: return 0;
  }
}

class Copier {
 public:
  Copier(const ProgramView& program, const std::vector<MethodOffsets>& methods)
      : program_(program), methods_(methods), schema_(*reflection::GetSchema(fb::ProgramBinarySchema::data())) {
    builder_.ForceDefaults(true);
    for (const MethodOffsets& method : methods) {
      moved_.emplace_back();
      for (const MethodOffsets::Entry& entry : method.entries) moved_.back()[entry.value] = entry.offset;
    }
  }

  /// The finished tables, without the extended header.
  Expected<Span<const uint8_t>> run() {
    budget_ = 16 * program_.layout().program_size + (uint64_t{1} << 20);
    const auto* root = reinterpret_cast<const Table*>(&program_.root());
    const uoffset_t copied = copy_table(*schema_.root_table(), *root);
    if (!failure_.message.empty()) return failure_;
    builder_.Finish(flatbuffers::Offset<void>(copied), kIdentifier);
    return Span<const uint8_t>(builder_.GetBufferPointer(), builder_.GetSize());
  }

 private:
  /// A copied field: an offset into the new buffer, or the bytes of a number.
  struct Part {
    const Field* field = nullptr;
    uoffset_t offset = 0;
    uint64_t bits = 0;
  };

  void fail(const Object& object, Error code, const char* message) {
    if (failure_.message.empty()) failure_ = {code, std::string("table ") + object.name()->c_str(), message};
  }

  bool is(const Object& object, const char* name) const { return object.name()->string_view() == name; }

  const Object& object_at(int32_t index) const { return *schema_.objects()->Get(static_cast<uoffset_t>(index)); }

  static const uint8_t* address(const Table& table, voffset_t offset) {
    return reinterpret_cast<const uint8_t*>(&table) + offset;
  }

  static const uint8_t* target(const uint8_t* field) { return field + flatbuffers::ReadScalar<uoffset_t>(field); }

  // Fields beyond the schema's last are of a later version.
  bool knows_all(const Object& object, const Table& table) const {
    voffset_t last = 2;
    for (const Field* field : *object.fields()) last = std::max(last, static_cast<voffset_t>(field->offset()));
    const uint8_t* vtable = table.GetVTable();
    const voffset_t size = flatbuffers::ReadScalar<voffset_t>(vtable);
    for (voffset_t at = last + 2; at + 2 <= size; at = static_cast<voffset_t>(at + 2)) {
      if (flatbuffers::ReadScalar<voffset_t>(vtable + at) != 0) return false;
    }
    return true;
  }

  uoffset_t copy_table(const Object& object, const Table& table) {
    if (!failure_.message.empty()) return 0;
    if (budget_ < 64) return fail(object, Error::kOutOfResources, "the file refers to its tables too often"), 0;
    budget_ -= 64;
    if (!knows_all(object, table)) {
      return fail(object, Error::kNotSupported, "has a field that this version does not know, and that would be lost"),
             0;
    }
    std::vector<Part> parts;
    for (const Field* field : *object.fields()) copy_field(object, *field, table, &parts);
    replace(object, &parts);
    if (!failure_.message.empty()) return 0;
    const uoffset_t start = builder_.StartTable();
    for (const Part& part : parts) add(part);
    return builder_.EndTable(start);
  }

  void add(const Part& part) {
    const BaseType type = part.field->type()->base_type();
    const auto at = static_cast<voffset_t>(part.field->offset());
    switch (scalar_size(type)) {
      case 1: return builder_.AddElement<uint8_t>(at, static_cast<uint8_t>(part.bits), 0);
      case 2: return builder_.AddElement<uint16_t>(at, static_cast<uint16_t>(part.bits), 0);
      case 4: return builder_.AddElement<uint32_t>(at, static_cast<uint32_t>(part.bits), 0);
      case 8: return builder_.AddElement<uint64_t>(at, part.bits, 0);
      default: return builder_.AddOffset(at, flatbuffers::Offset<void>(part.offset));
    }
  }

  void copy_field(const Object& object, const Field& field, const Table& table, std::vector<Part>* parts) {
    const voffset_t offset = table.GetOptionalFieldOffset(static_cast<voffset_t>(field.offset()));
    if (offset == 0 || !failure_.message.empty()) return;
    const uint8_t* data = address(table, offset);
    Part part;
    part.field = &field;
    const BaseType type = field.type()->base_type();
    if (const size_t size = scalar_size(type); size != 0) {
      std::memcpy(&part.bits, data, size);
    } else if (type == BaseType::String) {
      part.offset = copy_string(target(data));
    } else if (type == BaseType::Obj) {
      part.offset = copy_table(object_at(field.type()->index()), *reinterpret_cast<const Table*>(target(data)));
    } else if (type == BaseType::Union) {
      part.offset = copy_union(object, field, table, target(data));
      if (part.offset == 0) return;
    } else if (type == BaseType::Vector) {
      part.offset = copy_vector(object, field, target(data));
    } else {
      return fail(object, Error::kInternal, "has a field of a kind that is not copied");
    }
    parts->push_back(part);
  }

  uoffset_t copy_string(const uint8_t* data) {
    const auto* string = reinterpret_cast<const flatbuffers::String*>(data);
    budget_ -= std::min<uint64_t>(budget_, string->size());
    return builder_.CreateString(string->c_str(), string->size()).o;
  }

  uoffset_t copy_union(const Object& object, const Field& field, const Table& table, const uint8_t* data) {
    // The union's type is in the field before it.
    const auto tag_field = static_cast<voffset_t>(field.offset() - sizeof(voffset_t));
    const auto tag = table.GetField<uint8_t>(tag_field, 0);
    const auto* values = schema_.enums()->Get(static_cast<uoffset_t>(field.type()->index()))->values();
    for (const reflection::EnumVal* value : *values) {
      if (value->value() != tag || value->union_type() == nullptr) continue;
      if (value->union_type()->base_type() != BaseType::Obj) return 0;
      return copy_table(object_at(value->union_type()->index()), *reinterpret_cast<const Table*>(data));
    }
    fail(object, Error::kNotSupported, "holds a kind of value that this version does not know");
    return 0;
  }

  uoffset_t copy_vector(const Object& object, const Field& field, const uint8_t* data) {
    const auto count = flatbuffers::ReadScalar<uoffset_t>(data);
    const uint8_t* elements = data + sizeof(uoffset_t);
    const BaseType type = field.type()->element();
    if (is(object, "berth.fb.ExecutionPlan") && field.name()->string_view() == "non_const_buffer_sizes") {
      return arena_sizes();
    }
    if (const size_t size = scalar_size(type); size != 0) return copy_numbers(object, elements, count, size);
    const bool plans = is(object, "berth.fb.Program") && field.name()->string_view() == "execution_plan";
    const bool values = is(object, "berth.fb.ExecutionPlan") && field.name()->string_view() == "values";
    std::vector<uoffset_t> offsets;
    for (uoffset_t i = 0; i < count && failure_.message.empty(); ++i) {
      const uint8_t* element = target(elements + i * sizeof(uoffset_t));
      if (plans) method_ = i;
      if (values) value_ = static_cast<int32_t>(i);
      offsets.push_back(type == BaseType::String
                            ? copy_string(element)
                            : copy_table(object_at(field.type()->index()), *reinterpret_cast<const Table*>(element)));
    }
    if (!failure_.message.empty()) return 0;
    builder_.StartVector(offsets.size(), sizeof(uoffset_t));
    for (size_t i = offsets.size(); i-- > 0;) {
      builder_.PushElement(flatbuffers::Offset<void>(offsets[i]));
    }
    return builder_.EndVector(offsets.size());
  }

  uoffset_t arena_sizes() {
    std::vector<int64_t> sizes = {0};
    for (const uint64_t bytes : methods_[method_].arena_bytes) sizes.push_back(static_cast<int64_t>(bytes));
    return builder_.CreateVector(sizes).o;
  }

  uoffset_t copy_numbers(const Object& object, const uint8_t* elements, uoffset_t count, size_t size) {
    const size_t bytes = count * size;
    if (bytes > budget_) return fail(object, Error::kOutOfResources, "the file refers to its bytes too often"), 0;
    budget_ -= bytes;
    // Payloads and old constants are used in place.
    if (size == 1) builder_.ForceVectorAlignment(count, 1, 16);
    uint8_t* copy = nullptr;
    const uoffset_t offset = builder_.CreateUninitializedVector(count, size, &copy);
    if (bytes != 0) std::memcpy(copy, elements, bytes);
    return offset;
  }

  const Field* field_of(const Object& object, const char* name) const {
    for (const Field* field : *object.fields()) {
      if (field->name()->string_view() == name) return field;
    }
    BERTH_CHECK(false);
  }

  void set(const Object& object, const char* name, uint64_t bits, std::vector<Part>* parts) {
    const Field* field = field_of(object, name);
    for (Part& part : *parts) {
      if (part.field == field) return void(part.bits = bits);
    }
    // Fields that are omitted because they are 0 stay omitted.
    if (bits != 0) parts->push_back({field, 0, bits});
  }

  void replace(const Object& object, std::vector<Part>* parts) {
    if (is(object, "berth.fb.AllocationDetails")) {
      const auto found = moved_[method_].find(value_);
      if (found == moved_[method_].end()) return;
      set(object, "memory_offset_low", found->second & 0xFFFFFFFFu, parts);
      set(object, "memory_offset_high", found->second >> 32, parts);
      ++placed_;
    } else if (is(object, "berth.fb.ExecutionPlan")) {
      if (placed_ != moved_[method_].size()) {
        fail(object, Error::kInvalidArgument, "a value that is not planned has no offset");
      }
      placed_ = 0;
    }
  }

  const ProgramView& program_;
  const std::vector<MethodOffsets>& methods_;
  const reflection::Schema& schema_;
  flatbuffers::FlatBufferBuilder builder_;
  std::vector<std::map<int32_t, uint64_t>> moved_;  // by method: value → offset
  size_t method_ = 0;
  int32_t value_ = 0;
  size_t placed_ = 0;
  uint64_t budget_ = 0;
  Failure failure_{Error::kOk, "", ""};
};

// The tables, with the header of the file that they come from.
std::vector<uint8_t> with_header(const FileLayout& layout, Span<const uint8_t> tables) {
  std::vector<uint8_t> out;
  if (layout.header_bytes == 0) {
    out.assign(tables.begin(), tables.end());
    // Readers refuse shorter files; bytes after the tables are ignored.
    out.resize(std::max(out.size(), kHeadBytes));
    return out;
  }
  // A multiple of the largest alignment in the tables, also for a header of 24 bytes.
  const size_t inserted = align_up<size_t>(layout.header_bytes, 16);
  const uint64_t size = tables.size() + inserted;
  const uint64_t alignment = layout.segment_base & (~layout.segment_base + 1);
  const uint64_t base =
      layout.segment_base == 0 ? 0 : align_up<uint64_t>(size, std::clamp<uint64_t>(alignment, 16, 4096));
  out.reserve(std::max(size, base));
  out.assign(tables.begin(), tables.begin() + kHeaderOffset);
  out.resize(kHeaderOffset + inserted);
  out.insert(out.end(), tables.begin() + kHeaderOffset, tables.end());
  put(out, 0, flatbuffers::ReadScalar<uint32_t>(tables.data()) + inserted, 4);
  std::memcpy(out.data() + kHeaderOffset, kHeaderMagic, 4);
  put(out, 12, layout.header_bytes, 4);
  put(out, 16, size, 8);
  put(out, 24, base, 8);
  if (layout.header_bytes >= kHeaderBytes) put(out, 32, layout.segment_bytes, 8);
  out.resize(std::max(size, base));
  return out;
}

}  // namespace

Status ReplacedProgram::write(const Sink& sink) const {
  BERTH_TRY(sink({head.data(), head.size()}));
  return segments.empty() ? Status(Done{}) : sink(segments);
}

Expected<ReplacedProgram> replace_offsets(Span<const uint8_t> file, const std::vector<MethodOffsets>& methods) {
  ProgramView view;
  Report report;
  if (ProgramView::open(file, &view, &report) != Error::kOk) return Failure{report.code, report.place, report.message};
  BERTH_CHECK(methods.size() == view.method_count());
  const FileLayout& layout = view.layout();
  if (layout.header_bytes > kHeaderBytes) {
    return Failure{Error::kNotSupported, "header", "is longer than this version knows, and fields would be lost"};
  }
  Copier copier(view, methods);
  BERTH_ASSIGN_OR_RETURN(const Span<const uint8_t> tables, copier.run());
  ReplacedProgram out;
  out.head = with_header(layout, tables);
  if (layout.segment_base != 0) out.segments = file.subspan(layout.segment_base, layout.segment_bytes);
  return out;
}

}  // namespace berth::format
