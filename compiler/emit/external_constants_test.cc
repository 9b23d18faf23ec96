// Constants in data files: which, under which key, and that each key is one tensor.
#include "compiler/emit/external_constants.h"

#include "compiler/emit/delegates_testing.h"
#include "compiler/emit/emit_testing.h"

namespace berth::emit {
namespace {

using testing::as_written;
using testing::program_of;
using testing::written;

EmittedProgram external_of(const std::string& text, ConstantFile file_of) {
  EmitOptions options;
  options.constant_file = std::move(file_of);
  return program_of(text, as_written(), options);
}

std::string everything(const ir::Constant&) { return "all.ptd"; }

// "w: f32 [4]", "same = w".
std::vector<std::string> blobs_of(const ExternalFile& file) {
  std::vector<std::string> texts;
  for (const format::DataBlobDesc& blob : file.data.blobs) {
    std::string text = blob.key;
    if (blob.shares >= 0) text += " = " + file.data.blobs[blob.shares].key;
    text += std::string(": ") + to_string(blob.dtype) + " [";
    for (const int32_t size : blob.sizes) text += std::to_string(size) + " ";
    texts.push_back(text + "]");
  }
  return texts;
}

using Texts = std::vector<std::string>;

constexpr const char* kThree = R"(
  const @w: f32[2] = dense<[1, 2]>
  const @same: f32[2] = dense<[1, 2]>
  const @b: f32[2] = dense<[3, 4]>
  method forward(%x: f32[2]) {
    %w: f32[2] = const @w
    %s: f32[2] = const @same
    %b: f32[2] = const @b
    %p: f32[2] = aten::add.Tensor(%x, %w)
    %q: f32[2] = aten::mul.Tensor(%p, %s)
    %y: f32[2] = aten::add.Tensor(%q, %b)
    return %y
  })";

// Holds row 222.
TEST(ExternalConstants, GoToTheFileOfTheirTagUnderTheirNamesOnceWhereEqual) {
  const EmittedProgram emitted =
      external_of(kThree, [](const ir::Constant& constant) { return constant.name == "b" ? "b.ptd" : "w.ptd"; });
  EXPECT_TRUE(emitted.program.constants.empty());
  ASSERT_EQ(emitted.external.size(), 2u);
  EXPECT_EQ(emitted.external[0].path, "b.ptd");
  EXPECT_EQ(blobs_of(emitted.external[0]), Texts{"b: f32 [2 ]"});
  EXPECT_EQ(emitted.external[1].path, "w.ptd");
  EXPECT_EQ(blobs_of(emitted.external[1]), (Texts{"same: f32 [2 ]", "w = same: f32 [2 ]"}));
  EXPECT_EQ(emitted.external[1].bytes, 8);
  const uint8_t three_four[] = {0, 0, 0x40, 0x40, 0, 0, 0x80, 0x40};
  EXPECT_EQ(written(emitted.external[0].data.blobs[0].bytes), std::vector<uint8_t>(three_four, three_four + 8));
  int found = 0;
  for (const format::ValueDesc& value : emitted.program.methods[0].values) {
    const auto* tensor = std::get_if<format::TensorDesc>(&value);
    if (tensor == nullptr || !tensor->external) continue;
    ++found;
    EXPECT_TRUE(tensor->name == "w" || tensor->name == "same" || tensor->name == "b") << tensor->name;
  }
  EXPECT_EQ(found, 3);
}

TEST(ExternalConstants, TheOthersStayInTheProgram) {
  const EmittedProgram emitted =
      external_of(kThree, [](const ir::Constant& constant) { return constant.name == "w" ? "w.ptd" : ""; });
  EXPECT_EQ(emitted.program.constants.size(), 2u);
  ASSERT_EQ(emitted.external.size(), 1u);
  EXPECT_EQ(blobs_of(emitted.external[0]), Texts{"w: f32 [2 ]"});
  EXPECT_TRUE(external_of(kThree, nullptr).external.empty());
}

// Readers compare type and sizes of the tensor with those in the file.
TEST(ExternalConstants, AViewOfAConstantHasAKeyOfItsOwnOverTheSameBytes) {
  const EmittedProgram emitted = external_of(R"(
  const @w: f32[4] = dense<[1, 2, 3, 4]>
  method forward(%x: f32[4], %z: f32[2,2]) {
    %w: f32[4] = const @w
    %v: f32[2,2] = aten::view_copy(%w, [2, 2])
    %p: f32[4] = aten::add.Tensor(%x, %w)
    %q: f32[2,2] = aten::add.Tensor(%z, %v)
    return %p, %q
  })",
                                             everything);
  ASSERT_EQ(emitted.external.size(), 1u);
  EXPECT_EQ(blobs_of(emitted.external[0]), (Texts{"w: f32 [4 ]", "w.view = w: f32 [2 2 ]"}));
}

TEST(ExternalConstants, ConstantsOfOneNameThatDifferHaveTwoKeys) {
  ir::Module module = testing::module_of(kThree);
  for (ir::Constant& constant : module.constants) constant.name = "same";
  EmitOptions options;
  options.constant_file = everything;
  const auto emitted = testing::plan_and_emit(module, as_written(), options);
  ASSERT_TRUE(emitted.ok()) << emitted.error().text();
  EXPECT_EQ(blobs_of(emitted->external[0]), (Texts{"same: f32 [2 ]", "same.2: f32 [2 ]"}));
}

TEST(ExternalConstants, AConstantWithoutANameHasAKey) {
  ir::Module module = testing::module_of(kThree);
  for (ir::Constant& constant : module.constants) constant.name = "";
  EmitOptions options;
  options.constant_file = everything;
  const auto emitted = testing::plan_and_emit(module, as_written(), options);
  ASSERT_TRUE(emitted.ok()) << emitted.error().text();
  ASSERT_EQ(emitted->external[0].data.blobs.size(), 2u);
  for (const format::DataBlobDesc& blob : emitted->external[0].data.blobs) {
    EXPECT_EQ(blob.key.rfind("berth.c.", 0), 0u) << blob.key;
  }
}

TEST(ExternalConstants, WhatDelegatesReadLiesThereToo) {
  const EmittedProgram emitted = external_of(testing::kDelegatedAddRelu, everything);
  ASSERT_EQ(emitted.external.size(), 1u);
  EXPECT_EQ(emitted.external[0].data.blobs.size(), 1u);
  EXPECT_EQ(emitted.program.named_data.size(), 1u) << "berth.meta alone";
}

TEST(ExternalConstants, MethodsReadTheSameKey) {
  const EmittedProgram emitted = external_of(R"(
  const @w: f32[2] = dense<[1, 2]>
  method a(%x: f32[2]) {
    %w: f32[2] = const @w
    %y: f32[2] = aten::add.Tensor(%x, %w)
    return %y
  }
  method b(%x: f32[2]) {
    %w: f32[2] = const @w
    %y: f32[2] = aten::mul.Tensor(%x, %w)
    return %y
  })",
                                             everything);
  ASSERT_EQ(emitted.external.size(), 1u);
  EXPECT_EQ(blobs_of(emitted.external[0]), Texts{"w: f32 [2 ]"});
}

}  // namespace
}  // namespace berth::emit
