// Relations between sizes that a model implies. The fears: a size that it could have run with is refused, code that no
// output needs, a range whose end looks like a step.
#include "compiler/implied_sizes.h"

#include <gtest/gtest.h>

#include <fstream>

#include "compiler/compile.h"
#include "compiler/import/onnx/model_testing.h"
#include "compiler/ir/parse.h"

namespace berth {
namespace {

using Ints = std::vector<int64_t>;
using Texts = std::vector<std::string>;

Texts implied(const std::string& text) {
  const auto module = ir::parse(text, "t");
  EXPECT_TRUE(module.ok()) << module.error().text();
  return module.ok() ? implied_sizes(*module) : Texts{"no module"};
}

// Sixteen times a sixteenth of x, which is as large as x where its size is a multiple of 16.
std::string with_parts(const std::string& symbols, const std::string& body) {
  return symbols + R"(
    method forward(%x: f32[1,4,h]) {
      %s: f32[1,4,floordiv(h, 16)] = aten::slice_copy.Tensor(%x, 2, 0, floordiv(h, 16), 1)
      %u: f32[1,4,(floordiv(h, 16) * 16)] = aten::repeat(%s, [1, 1, 16])
)" + body +
         "}";
}

TEST(ImpliedSizes, JoinedTensorsAreAsLargeAsEachOther) {
  const std::string joined = "%j: f32[1,8,h] = aten::cat([%x, %u], 1)\nreturn %j\n";
  EXPECT_EQ(implied(with_parts("symbol h in [64, 512]", joined)), Texts{"h%16==0"});
  EXPECT_EQ(implied(with_parts("symbol h in [1, 500]", joined)), Texts{"h%16==0"});
  // Known already; one size alone; more sizes than are tried.
  EXPECT_EQ(implied(with_parts("symbol h in [64, 512] step 16", joined)), Texts{});
  EXPECT_EQ(implied(with_parts("symbol h in [60, 70]", joined)), Texts{});
  EXPECT_EQ(implied(with_parts("symbol h in [64, 70000]", joined)), Texts{});
}

TEST(ImpliedSizes, SumsOfWhatCannotBeStretchedAreToo) {
  const std::string sum = "%y: f32[1,4,h] = aten::add.Tensor(%x, %u, 1)\nreturn %y\n";
  EXPECT_EQ(implied(with_parts("symbol h in [64, 512]", sum)), Texts{"h%16==0"});
}

// A run adds %t where it is one element; that says nothing about where it is more.
TEST(ImpliedSizes, WhatIsStretchedSaysNothing) {
  EXPECT_EQ(implied(with_parts("symbol h in [64, 512]", R"(
      %j: f32[1,8,h] = aten::cat([%x, %u], 1)
      %t: f32[1,4,floordiv(h, 64)] = aten::slice_copy.Tensor(%x, 2, 0, floordiv(h, 64), 1)
      %y: f32[1,4,h] = aten::add.Tensor(%x, %t, 1)
      return %j, %y
  )")),
            Texts{"h%16==0"});
}

TEST(ImpliedSizes, SeveralEqualitiesHoldTogether) {
  EXPECT_EQ(implied(R"(
    symbol h in [32, 256]
    method forward(%x: f32[2,h]) {
      %a: f32[2,floordiv(h, 4)] = aten::slice_copy.Tensor(%x, 1, 0, floordiv(h, 4), 1)
      %b: f32[2,(floordiv(h, 4) * 4)] = aten::repeat(%a, [1, 4])
      %c: f32[2,floordiv((h + -1), 6)] = aten::slice_copy.Tensor(%x, 1, 0, floordiv((h + -1), 6), 1)
      %d: f32[2,(floordiv((h + -1), 6) * 6)] = aten::repeat(%c, [1, 6])
      %e: f32[2,((floordiv((h + -1), 6) * 6) + 4)] = aten::constant_pad_nd(%d, [0, 4], 0)
      %y: f32[4,h] = aten::cat([%x, %b], 0)
      %z: f32[4,h] = aten::cat([%x, %e], 0)
      return %y, %z
    })"),
            Texts{"h%12==4"});
}

TEST(ImpliedSizes, WhatNoOutputNeedsImpliesNothing) {
  EXPECT_EQ(implied(with_parts("symbol h in [64, 512]", "%j: f32[1,8,h] = aten::cat([%x, %u], 1)\nreturn %u\n")),
            Texts{});
  EXPECT_EQ(implied(with_parts("symbol h in [64, 512]", "return %u\n")), Texts{});
}

// Parts that are joined along the open size may have any.
TEST(ImpliedSizes, TheJoinedDimensionIsFree) {
  EXPECT_EQ(implied(with_parts("symbol h in [64, 512]",
                               "%j: f32[1,4,(h + (floordiv(h, 16) * 16))] = aten::cat([%x, %u], -1)\nreturn %j\n")),
            Texts{});
}

// A network that halves an image, doubles it again and joins both, loaded for a range of sizes.
Expected<ir::Module> loaded(const std::string& shape, const Texts& where = {}) {
  onnx::TestModel m;
  m.symbolic_input("x", {"1", "4", "height", "8"});
  m.node("MaxPool", {"x"}, {"half"}).set("kernel_shape", Ints{2, 2}).set("strides", Ints{2, 2});
  m.floats("scales", {4}, {1, 1, 2, 2});
  m.node("Resize", {"half", "", "scales"}, {"whole"});
  m.node("Concat", {"x", "whole"}, {"y"}).set("axis", 1);
  m.output("y");
  const std::string path = ::testing::TempDir() + "implied_sizes.onnx";
  std::ofstream(path, std::ios::binary) << m.bytes();
  ImportOptions options;
  options.input_shapes = {{"x", shape}};
  options.where = where;
  return load_model(path, options);
}

std::string height_of(const Expected<ir::Module>& module) {
  if (!module.ok()) return module.error().text();
  const ir::Symbol* height = module->symbols.find("height");
  if (height == nullptr) return "no height";
  return std::to_string(height->min) + ".." + std::to_string(height->max) + " by " + std::to_string(height->step);
}

TEST(ImpliedSizes, AModelIsLoadedForThem) {
  EXPECT_EQ(height_of(loaded("1x4x9..65x8")), "10..64 by 2");
  EXPECT_EQ(height_of(loaded("1x4x9..65x8", {"height%3==0"})), "12..60 by 6");
  // One size is left, which is not a matter of steps.
  EXPECT_EQ(height_of(loaded("1x4x9..11x8")), "9..11 by 1");
}

}  // namespace
}  // namespace berth
