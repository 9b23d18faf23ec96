// The fears: a field is lost, a byte of a segment changes, or what is not known is thrown away. Files are compared by a
// walk over the schema that is written apart from the copier.
#include "format/write/replace_offsets.h"

#include <flatbuffers/reflection_generated.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "format/plan_check/access.h"
#include "format/schema/program_bfbs_generated.h"
#include "format/verify.h"
#include "format/write/programs_testing.h"

namespace berth::format {
namespace {

using namespace testing;

/// Every field of a program as text, by its path; offsets and arena sizes apart.
class Decoded {
 public:
  explicit Decoded(Span<const uint8_t> file) : schema_(*reflection::GetSchema(fb::ProgramBinarySchema::data())) {
    uint32_t root = 0;
    std::memcpy(&root, file.data(), 4);
    table(*schema_.root_table(), file.data() + root, "program");
  }

  std::map<std::string, std::string> fields;
  std::map<std::string, std::string> offsets;

 private:
  template <typename T>
  static T read(const uint8_t* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }

  static size_t width(reflection::BaseType type) {
    using B = reflection::BaseType;
    if (type == B::Int || type == B::UInt || type == B::Float) return 4;
    if (type == B::Long || type == B::ULong || type == B::Double) return 8;
    return type == B::Short || type == B::UShort ? 2 : 1;
  }

  void table(const reflection::Object& object, const uint8_t* start, const std::string& path) {
    const uint8_t* vtable = start - read<int32_t>(start);
    const uint16_t vtable_bytes = read<uint16_t>(vtable);
    size_t present = 0;
    for (const reflection::Field* field : *object.fields()) {
      if (field->offset() + 2u > vtable_bytes) continue;
      const uint16_t offset = read<uint16_t>(vtable + field->offset());
      if (offset == 0) continue;
      ++present;
      const std::string name = path + "." + field->name()->str();
      const uint8_t* data = start + offset;
      using B = reflection::BaseType;
      switch (field->type()->base_type()) {
        case B::String:
        case B::Obj:
        case B::Vector: value(field->type()->base_type(), *field->type(), data + read<uint32_t>(data), name); break;
        case B::Union: {
          const uint8_t tag = start[read<uint16_t>(vtable + field->offset() - 2)];
          const auto* kinds = schema_.enums()->Get(static_cast<uint32_t>(field->type()->index()))->values();
          const reflection::EnumVal* kind = kinds->Get(tag);
          ASSERT_EQ(kind->value(), tag);
          table(*schema_.objects()->Get(static_cast<uint32_t>(kind->union_type()->index())),
                data + read<uint32_t>(data), name + ":" + kind->name()->str());
          break;
        }
        default: keep(name, std::string(reinterpret_cast<const char*>(data), width(field->type()->base_type())));
      }
    }
    for (uint16_t at = 4; at + 2 <= vtable_bytes; at = static_cast<uint16_t>(at + 2)) {
      if (read<uint16_t>(vtable + at) != 0) --present;
    }
    EXPECT_EQ(present, 0u) << path << " has fields that the schema has not";
  }

  void value(reflection::BaseType type, const reflection::Type& of, const uint8_t* at, const std::string& name) {
    using B = reflection::BaseType;
    const uint32_t count = type == B::Obj ? 0 : read<uint32_t>(at);
    const char* bytes = reinterpret_cast<const char*>(at) + 4;
    if (type == B::String) return keep(name, "text " + std::string(bytes, count));
    if (type == B::Obj) return table(*schema_.objects()->Get(static_cast<uint32_t>(of.index())), at, name);
    keep(name + ".count", std::to_string(count));
    if (of.element() != B::String && of.element() != B::Obj) {
      return keep(name, std::string(bytes, count * width(of.element())));
    }
    for (uint32_t i = 0; i < count; ++i) {
      const uint8_t* element = at + 4 + 4 * size_t{i};
      value(of.element(), of, element + read<uint32_t>(element), name + "[" + std::to_string(i) + "]");
    }
  }

  void keep(const std::string& name, const std::string& content) {
    const bool is_offset = name.find("memory_offset_") != std::string::npos ||
                           (name.find("non_const_buffer_sizes") != std::string::npos && name.back() != 't');
    (is_offset ? offsets : fields)[name] = content;
  }

  const reflection::Schema& schema_;
};

/// The offsets and sizes that the file has already.
std::vector<MethodOffsets> present_offsets(const ProgramView& view) {
  std::vector<MethodOffsets> out;
  for (size_t m = 0; m < view.method_count(); ++m) {
    out.emplace_back();
    const fb::ExecutionPlan& plan = view.method(m);
    for (uint32_t k = 1; k < plan.non_const_buffer_sizes()->size(); ++k) {
      out.back().arena_bytes.push_back(static_cast<uint64_t>(plan.non_const_buffer_sizes()->Get(k)));
    }
    for (uint32_t v = 0; v < plan.values()->size(); ++v) {
      const fb::Tensor* tensor = tensor_at(plan, v);
      if (tensor == nullptr || tensor->allocation_info() == nullptr) continue;
      out.back().entries.push_back({static_cast<int32_t>(v), planned_offset(*tensor->allocation_info())});
    }
  }
  return out;
}

ProgramView opened(const std::vector<uint8_t>& file) {
  ProgramView view;
  Report report;
  EXPECT_EQ(ProgramView::open(file, &view, &report), Error::kOk) << report.message;
  EXPECT_EQ(verify_program(view, &report), Error::kOk) << report.place << ": " << report.message;
  return view;
}

std::vector<uint8_t> joined(const ReplacedProgram& program) {
  std::vector<uint8_t> out;
  EXPECT_TRUE(program.write(append_to(&out)).ok());
  EXPECT_EQ(out.size(), program.size());
  return out;
}

void expect_same_but_offsets(const std::vector<uint8_t>& before, const std::vector<uint8_t>& after) {
  const ProgramView a = opened(before);
  const ProgramView b = opened(after);
  EXPECT_EQ(Decoded(before).fields, Decoded(after).fields);
  EXPECT_GT(Decoded(before).fields.size(), 20u);
  EXPECT_EQ(a.layout().header_bytes, b.layout().header_bytes);
  ASSERT_EQ(a.layout().segment_bytes, b.layout().segment_bytes);
  EXPECT_EQ(std::memcmp(before.data() + a.layout().segment_base, after.data() + b.layout().segment_base,
                        a.layout().segment_bytes),
            0);
}

/// Without segments, so that the tables are the file's end and can be added to.
std::vector<uint8_t> tables_alone() {
  ProgramDesc program = add_relu();
  program.methods[0].values[1] = tensor({4}, 48);
  program.methods[0].inputs.push_back(1);
  program.methods[0].arenas[0].bytes = 64;
  program.constants.clear();
  std::vector<uint8_t> file = bytes_of(program);
  EXPECT_EQ(opened(file).layout().header_bytes, 0u);
  return file;
}

/// Gives the table at `start` a field after its schema's last, `last`.
void add_field(std::vector<uint8_t>* file, size_t start, uint16_t last) {
  int32_t to_vtable = 0;
  std::memcpy(&to_vtable, file->data() + start, 4);
  std::vector<uint8_t> vtable(last + 4u);
  const uint8_t* old = file->data() + start - to_vtable;
  std::memcpy(vtable.data(), old, old[0] | old[1] << 8);
  vtable[0] = static_cast<uint8_t>(vtable.size());
  vtable[last + 2u] = 4;
  while (file->size() % 16 != 0) file->push_back(0);
  to_vtable = static_cast<int32_t>(start) - static_cast<int32_t>(file->size());
  std::memcpy(file->data() + start, &to_vtable, 4);
  file->insert(file->end(), vtable.begin(), vtable.end());
}

TEST(ReplaceOffsets, NoFieldIsLostOfAProgramWithEverything) {
  const std::vector<uint8_t> file = bytes_of(one_of_everything());
  std::vector<MethodOffsets> offsets = present_offsets(opened(file));
  const auto same = replace_offsets(file, offsets);
  ASSERT_TRUE(same.ok()) << same.error().place << ": " << same.error().message;
  expect_same_but_offsets(file, joined(*same));
  EXPECT_EQ(Decoded(file).offsets, Decoded(joined(*same)).offsets);

  offsets[1].entries[0].offset = 224;
  offsets[1].arena_bytes = {240, 48};
  const auto moved = replace_offsets(file, offsets);
  ASSERT_TRUE(moved.ok());
  const std::vector<uint8_t> after = joined(*moved);
  expect_same_but_offsets(file, after);
  const fb::ExecutionPlan& plan = opened(after).method(1);
  EXPECT_EQ(planned_offset(*tensor_at(plan, 0)->allocation_info()), 224u);
  EXPECT_EQ(planned_offset(*tensor_at(plan, 3)->allocation_info()), 16u);
  EXPECT_EQ(plan.non_const_buffer_sizes()->Get(0), 0);
  EXPECT_EQ(plan.non_const_buffer_sizes()->Get(1), 240);
  EXPECT_EQ(plan.non_const_buffer_sizes()->Get(2), 48);
}

TEST(ReplaceOffsets, NoFieldIsLostWithoutHeaderAndSegments) {
  const std::vector<uint8_t> file = tables_alone();
  const auto same = replace_offsets(file, present_offsets(opened(file)));
  ASSERT_TRUE(same.ok());
  EXPECT_TRUE(same->segments.empty());
  expect_same_but_offsets(file, joined(*same));
}

TEST(ReplaceOffsets, AbsentFieldsStayAbsent) {
  // The comparison would see it: an offset of 0 is written, or not, as it was.
  const std::vector<uint8_t> file = bytes_of(add_relu());
  const size_t fields = Decoded(file).offsets.size();
  const auto same = replace_offsets(file, {{{}, {48}}});
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(Decoded(joined(*same)).offsets.size(), fields);
}

TEST(ReplaceOffsets, SegmentsAreNotCopied) {
  const std::vector<uint8_t> file = bytes_of(one_of_everything());
  const ProgramView view = opened(file);
  const auto same = replace_offsets(file, present_offsets(view));
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->segments.data(), file.data() + view.layout().segment_base);
  EXPECT_EQ(same->head.size() % 128, 0u) << "the alignment that segments had";
}

TEST(ReplaceOffsets, ACopyOfACopyIsTheSame) {
  const std::vector<uint8_t> file = bytes_of(one_of_everything());
  const auto offsets = present_offsets(opened(file));
  const auto once = replace_offsets(file, offsets);
  ASSERT_TRUE(once.ok());
  const std::vector<uint8_t> first = joined(*once);
  const auto twice = replace_offsets(first, offsets);
  ASSERT_TRUE(twice.ok());
  EXPECT_EQ(first, joined(*twice));
}

TEST(ReplaceOffsets, OffsetsKeepAll64Bits) {
  const std::vector<uint8_t> file = bytes_of(add_relu());
  const uint64_t far = (uint64_t{5} << 32) + 48;
  const auto moved = replace_offsets(file, {{{{0, 0}, {3, far}, {4, 16}}, {far + 16}}});
  ASSERT_TRUE(moved.ok());
  const std::vector<uint8_t> after = joined(*moved);
  const auto offset = [&](const std::vector<uint8_t>& bytes, size_t value) {
    return planned_offset(*tensor_at(opened(bytes).method(0), value)->allocation_info());
  };
  EXPECT_EQ(offset(after, 3), far);
  EXPECT_EQ(offset(after, 4), 16u);
  const auto back = replace_offsets(after, {{{{3, 16}}, {48}}});
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(offset(joined(*back), 3), 16u);
}

TEST(ReplaceOffsets, AFieldOfALaterSchemaIsRefused) {
  std::vector<uint8_t> file = tables_alone();
  uint32_t root = 0;
  std::memcpy(&root, file.data(), 4);
  const size_t tensor =
      static_cast<size_t>(reinterpret_cast<const uint8_t*>(tensor_at(opened(file).method(0), 0)) - file.data());
  for (const auto& [start, last, table] :
       {std::tuple<size_t, uint16_t, const char*>{root, fb::Program::VT_NAMED_DATA, "Program"},
        {tensor, fb::Tensor::VT_EXTRA_TENSOR_INFO, "Tensor"}}) {
    std::vector<uint8_t> later = file;
    add_field(&later, start, last);
    const auto result = replace_offsets(later, present_offsets(opened(later)));
    ASSERT_FALSE(result.ok()) << table;
    EXPECT_EQ(result.error().code, Error::kNotSupported);
    EXPECT_NE(result.error().place.find(table), std::string::npos) << result.error().place;
  }
}

TEST(ReplaceOffsets, AnUnknownHeaderIsRefused) {
  std::vector<uint8_t> file = bytes_of(add_relu());
  file[12] = 48;
  const auto result = replace_offsets(file, present_offsets(opened(file)));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Error::kNotSupported);
}

TEST(ReplaceOffsets, ReplacingAConstantIsRefused) {
  const std::vector<uint8_t> file = bytes_of(add_relu());
  const auto result = replace_offsets(file, {{{{1, 0}}, {48}}});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth::format
