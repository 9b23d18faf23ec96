// Constants of delegates: stored once, under their own bytes, whatever reads them.
#include "compiler/emit/delegate_constants.h"

#include "compiler/emit/delegates_testing.h"

namespace berth::emit {
namespace {

using testing::kShared;
using testing::module_of;
using testing::nested_text;
using testing::only_method;
using testing::program_of;
using testing::written;

// Holds row 219.
TEST(DelegateConstants, ConstantsAreStoredOnceOverAllDelegatesAndDevices) {
  const EmittedProgram emitted = program_of(kShared);
  ASSERT_EQ(emitted.program.named_data.size(), 3u) << "w and same, the two ones, and berth.meta";
  EXPECT_EQ(emitted.program.named_data[0].bytes.size, 16u);
  const uint8_t one_to_four[16] = {0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40, 0, 0, 0x80, 0x40};
  EXPECT_EQ(written(emitted.program.named_data[0].bytes), std::vector<uint8_t>(one_to_four, one_to_four + 16));
  EXPECT_EQ(emitted.program.named_data[2].key, format::kMetaKey);
  EXPECT_EQ(emitted.program.named_data[0].alignment, 64u) << "read where it lies by kernels of the host";
  const std::string& key = emitted.program.named_data[0].key;
  EXPECT_EQ(key.size(), 8u + 32u);
  EXPECT_EQ(key.rfind("berth.c.", 0), 0u);
  EXPECT_NE(nested_text(emitted, 0).find("f32[4] = external \"" + key), std::string::npos);
  EXPECT_NE(nested_text(emitted, 1).find("f32[2,2] = external \"" + key), std::string::npos);
}

TEST(DelegateConstants, NamedDataIsKeptForForeignDelegates) {
  const auto module = [](const char* contents) {
    return std::string("delegate @d \"Chip\"") + contents + R"(
      data "weights" = hex"0405"
      data "none" = hex""
      method forward(%x: f32[4]) {
        %y: f32[4] = berth::delegate([%x]) @d
        return %y
      })";
  };
  const EmittedProgram emitted = program_of(module(" = hex\"01\""));
  ASSERT_EQ(emitted.program.named_data.size(), 3u);
  EXPECT_EQ(emitted.program.named_data[0].key, "weights");
  EXPECT_EQ(written(emitted.program.named_data[0].bytes), (std::vector<uint8_t>{4, 5}));
  EXPECT_EQ(emitted.program.named_data[1].key, "none");
  EXPECT_EQ(emitted.program.named_data[1].bytes.size, 0u);
}

// Within a delegate constants have other numbers than in the module.
TEST(DelegateConstants, ConstantsAreStoredUnderTheirOwnBytes) {
  const EmittedProgram emitted = program_of(R"(
    const @host: f32[1] = dense<[7]>
    const @own: f32[1] = dense<[1]>
    delegate @d0 "berth.sim" {target_device = "sim:0"}
    method forward(%x: f32[1]@sim:0, %h: f32[1]) {
      %k: f32[1] = const @host
      %w: f32[1] = const @own
      %g: f32[1] = aten::add.Tensor(%h, %k)
      %y: f32[1]@sim:0 = berth::delegate([%x]) @d0 { (%a: f32[1]@sim:0)
        %b: f32[1]@sim:0 = aten::add.Tensor(%a, %w)
        yield %b
      }
      return %y, %g
    })");
  EXPECT_EQ(written(emitted.program.named_data[0].bytes), (std::vector<uint8_t>{0, 0, 0x80, 0x3f}));
}

TEST(DelegateConstants, AConstantThatTheHostReadsTooStaysInTheProgram) {
  const EmittedProgram emitted = program_of(kShared);
  ASSERT_EQ(emitted.program.constants.size(), 1u);
  EXPECT_EQ(emitted.program.constants[0].size, 16u);
  const format::MethodDesc& method = only_method(emitted);
  for (const format::ValueDesc& value : method.values) {
    const auto* tensor = std::get_if<format::TensorDesc>(&value);
    if (tensor == nullptr || tensor->data_buffer_idx == 0) continue;
    EXPECT_TRUE(tensor->device.is_cpu());
  }
}

TEST(DelegateConstants, NamedDataWithTwoNamesIsWrittenOnce) {
  ir::Module module = testing::module_of(R"(
    delegate @d "Chip" = hex"01"
    data "a" = hex"0405"
    data "b" = hex"06"
    method forward(%x: f32[4]) {
      %y: f32[4] = berth::delegate([%x]) @d
      return %y
    })");
  module.named_data.push_back({"c", module.named_data[0].blob});
  const auto emitted = testing::plan_and_emit(module, testing::as_written());
  ASSERT_TRUE(emitted.ok()) << emitted.error().text();
  const auto file = format::program_bytes(emitted->program);
  ASSERT_TRUE(file.ok());
  format::ProgramView view;
  ASSERT_EQ(format::ProgramView::open(*file, &view, nullptr), Error::kOk);
  Span<const uint8_t> a, b, c;
  ASSERT_EQ(view.named_data("a", &a), Error::kOk);
  ASSERT_EQ(view.named_data("b", &b), Error::kOk);
  ASSERT_EQ(view.named_data("c", &c), Error::kOk);
  EXPECT_EQ(a.data(), c.data());
  EXPECT_EQ(c.size(), 2u);
  EXPECT_EQ(b[0], 6);
}

}  // namespace
}  // namespace berth::emit
