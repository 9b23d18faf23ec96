// Results of bf16. The fears: a bit that changes, a result that an operator reads in f32, at once or behind a move, or
// that leaves the delegate, or that has no kernel; and one that stays f32 without a reason.
#include "compiler/fuse/narrow_results.h"

#include <algorithm>

#include "compiler/fuse/fuse_testing.h"
#include "compiler/ir/parse.h"

namespace berth::fuse {
namespace {

struct NarrowOutputs {
  Fused fused;
  std::vector<eval::Item> items;
};

// The outputs of `module`, compiled for weights of this type, by the portable kernels.
NarrowOutputs compiled_outputs(ir::Module module, DType weights, bool narrow, const std::vector<eval::Item>& inputs) {
  NarrowOutputs result;
  Targets targets = cpu_targets();
  targets[0].weights = weights;
  passes::Options options;
  options.verify = true;
  options.why = {"precision"};
  options.why_lines = &result.fused.why;
  std::vector<passes::Pass> all = fuse_passes(targets);
  const auto is_narrowing = [](const passes::Pass& pass) { return std::string(pass.name) == "narrow_results"; };
  if (!narrow) all.erase(std::remove_if(all.begin(), all.end(), is_narrowing), all.end());
  const Status done = passes::run(all, module, options);
  EXPECT_TRUE(done.ok()) << done.error().text();
  result.fused.module = std::move(module);
  result.fused.text = ir::print(result.fused.module);
  const auto found = eval::evaluate(result.fused.module, result.fused.module.methods[0], inputs);
  EXPECT_TRUE(found.ok()) << found.error().text() << "\n" << result.fused.text;
  if (found.ok()) result.items = *found;
  return result;
}

// Compiles `text` with narrow results and without, and expects the same bits.
Fused with_narrow_results(const std::string& text, DType weights = DType::kBF16) {
  ir::Module module = passes::parsed(text);
  const std::vector<eval::Item> inputs = passes::random_inputs(module, module.methods[0], 7);
  delegate_all(module);
  const NarrowOutputs wide = compiled_outputs(module, weights, false, inputs);
  NarrowOutputs narrow = compiled_outputs(std::move(module), weights, true, inputs);
  EXPECT_EQ(wide.items.size(), narrow.items.size());
  for (size_t i = 0; i < wide.items.size(); ++i) passes::expect_close(wide.items[i], narrow.items[i], 0);
  return narrow.fused;
}

// A chain of two convolutions, `%z`, with what stands between and behind them.
std::string two_convolutions(const std::string& between, const std::string& behind, const std::string& groups = "1") {
  const Constants constants = {
      {"w", {8, 8, 3, 3}},
      {"b", {8}},
      groups == "1" ? Constants::value_type{"v", {6, 8, 3, 3}} : Constants::value_type{"v", {8, 1, 3, 3}}};
  return with_constants(constants, "%x: f32[1,8,6,6]",
                        "%a: f32[1,8,6,6] = aten::convolution(%x, %w, %b, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)\n" +
                            between + "\n%z: f32[1," + (groups == "1" ? "6" : "8") +
                            ",6,6] = aten::convolution(%r, %v, none, [1, 1], [1, 1], [1, 1], false, [0, 0], " + groups +
                            ")\n" + behind);
}

const std::string kReluBetween = "%r: f32[1,8,6,6] = aten::relu(%a)";

bool has_narrow_result(const Fused& fused) { return fused.text.find(", bf16)") != std::string::npos; }

TEST(NarrowResults, BetweenConvolutionsTheyAre16Bits) {
  const Fused one = with_narrow_results(two_convolutions(kReluBetween, "return %z"));
  EXPECT_NE(one.text.find(": bf16[1,8,6,6]"), std::string::npos) << one.text;
  EXPECT_TRUE(has_narrow_result(one)) << one.text;
  EXPECT_TRUE(one.says("result in bf16"));
  EXPECT_TRUE(one.says("result in f32: read-as-f32")) << "the last is copied to planes";
}

TEST(NarrowResults, BetweenProductsTheyAre16Bits) {
  const std::string body = R"(
    %a: f32[5,16] = aten::mm(%x, %w)
    %r: f32[5,16] = aten::gelu(%a)
    %y: f32[5,7] = aten::mm(%r, %v)
    %z: f32[5,9] = aten::mm(%r, %u)
    return %y, %z
  )";
  const Constants weights = {{"w", {12, 16}}, {"v", {16, 7}}, {"u", {16, 9}}};
  const Fused one = with_narrow_results(with_constants(weights, "%x: f32[5,12]", body));
  EXPECT_NE(one.text.find(": bf16[5,16]"), std::string::npos) << "of two readers: " << one.text;
  EXPECT_TRUE(has_narrow_result(one)) << one.text;
  EXPECT_TRUE(one.says("result in f32: output"));
}

TEST(NarrowResults, OfAnySizeTheyAre16Bits) {
  const Fused one = with_narrow_results("symbol n in [1, 9]\n" +
                                        with_constants({{"w", {12, 16}}, {"v", {16, 7}}}, "%x: f32[n,12]", R"(
    %a: f32[n,16] = aten::mm(%x, %w)
    %y: f32[n,7] = aten::mm(%a, %v)
    return %y
  )"));
  EXPECT_NE(one.text.find(": bf16[n,16]"), std::string::npos) << one.text;
}

TEST(NarrowResults, WithoutWeightsOfBf16TheyStay) {
  for (const DType type : {DType::kF32, DType::kF16}) {
    const Fused one = with_narrow_results(two_convolutions(kReluBetween, "return %z"), type);
    EXPECT_EQ(one.text.find("bf16"), std::string::npos) << one.text;
  }
}

TEST(NarrowResults, WhatLeavesTheDelegateStays) {
  const Fused one = with_narrow_results(two_convolutions(kReluBetween, "return %z, %r"));
  EXPECT_FALSE(has_narrow_result(one)) << one.text;
  EXPECT_FALSE(one.says("result in bf16"));
}

TEST(NarrowResults, WhatAnotherOperatorReadsStays) {
  const Fused one =
      with_narrow_results(two_convolutions(kReluBetween, "%m: f32[1,8,6,6] = aten::cumsum(%r, 3)\nreturn %z, %m"));
  EXPECT_FALSE(has_narrow_result(one)) << one.text;
  EXPECT_TRUE(one.says("result in f32: read-as-f32"));
}

TEST(NarrowResults, WhatAWideWeightIsMultipliedWithStays) {
  const Fused one = with_narrow_results(two_convolutions(kReluBetween, "return %z", "8"));
  EXPECT_TRUE(one.says("depthwise")) << one.text;
  EXPECT_FALSE(has_narrow_result(one)) << one.text;
  EXPECT_TRUE(one.says("result in f32: read-as-f32"));
}

// The residual is read again behind the sum.
TEST(NarrowResults, SumsWithAResidualAre16BitsToo) {
  const Fused one = with_narrow_results(two_convolutions(
      "%s: f32[1,8,6,6] = aten::add.Tensor(%a, %x, 1)\n%r: f32[1,8,6,6] = aten::relu(%s)",
      "%y: f32[1,8,6,6] = aten::convolution(%x, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)\nreturn %z, %y"));
  EXPECT_TRUE(has_narrow_result(one)) << one.text;
  EXPECT_TRUE(one.says("result in bf16"));
}

// A sum of f32 lies in a residual that nothing reads afterwards; one of bf16 would lie beside it.
TEST(NarrowResults, SumsThatEndTheirResidualStay) {
  const char* const sum = R"(
    %a: f32[5,12] = aten::mm(%x, %w)
    %t: f32[5,12] = aten::tanh(%a)
    %m: f32[5,12] = aten::mm(%x, %v)
    %s: f32[5,12] = aten::add.Tensor(%m, %t, 1)
    %z: f32[5,12] = aten::mm(%s, %v)
    $more
  )";
  const auto fused = [&](const char* more) {
    return with_narrow_results(
        with_constants({{"w", {12, 12}}, {"v", {12, 12}}}, "%x: f32[5,12]", filled(sum, {{"more", more}}).c_str()));
  };
  const Fused last = fused("return %z");
  EXPECT_FALSE(has_narrow_result(last)) << last.text;
  EXPECT_TRUE(last.says("result in f32: in-place"));
  const Fused read_again = fused("%u: f32[5,12] = aten::exp(%t)\n    return %z, %u");
  EXPECT_TRUE(has_narrow_result(read_again)) << read_again.text;
}

std::string pooled(const std::string& from) {
  return "%r: f32[1,8,6,6], %i: i64[1,8,6,6] = aten::max_pool2d_with_indices(%" + from +
         ", [3, 3], [1, 1], [1, 1], [1, 1], false)";
}

TEST(NarrowResults, BehindMaxPoolingTheyAre16Bits) {
  const Fused one = with_narrow_results(two_convolutions(pooled("a"), "return %z"));
  EXPECT_NE(one.text.find(": bf16[1,8,6,6]{0,2,3,1}, %i"), std::string::npos) << one.text;
  EXPECT_TRUE(has_narrow_result(one)) << one.text;
  EXPECT_TRUE(one.says("result in bf16"));
}

// Rounded numbers may be equal where those of before were not.
TEST(NarrowResults, WhoseLargestIsSoughtStay) {
  const Fused one = with_narrow_results(two_convolutions(pooled("a"), "return %z, %i"));
  EXPECT_FALSE(has_narrow_result(one)) << one.text;
  EXPECT_FALSE(one.says("result in bf16"));
}

TEST(NarrowResults, WhatIsAveragedStays) {
  const Fused one = with_narrow_results(two_convolutions(
      "%r: f32[1,8,6,6] = aten::avg_pool2d(%a, [3, 3], [1, 1], [1, 1], false, true, none)", "return %z"));
  EXPECT_FALSE(has_narrow_result(one)) << one.text;
  EXPECT_TRUE(one.says("result in f32: read-as-f32"));
}

// Joined with what is f32, they would be f32 again.
TEST(NarrowResults, JoinedOnesAre16BitsIfAllAre) {
  for (const bool all : {true, false}) {
    const std::string other =
        all ? "aten::convolution(%x, %u, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)" : "aten::cumsum(%x, 3)";
    const Fused one = with_narrow_results(
        with_constants({{"w", {8, 8, 1, 1}}, {"u", {8, 8, 1, 1}}, {"v", {20, 16, 1, 1}}}, "%x: f32[1,8,6,6]",
                       "%a: f32[1,8,6,6] = aten::convolution(%x, %w, none, [1, 1], "
                       "[0, 0], [1, 1], false, [0, 0], 1)\n%o: f32[1,8,6,6] = " +
                           other + R"(
      %j: f32[1,16,6,6] = aten::cat([%a, %o], 1)
      %m: f32[1,16,3,3], %i: i64[1,16,3,3] = aten::max_pool2d_with_indices(%j, [2, 2], [2, 2])
      %z: f32[1,20,3,3] = aten::convolution(%m, %v, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
      return %z
    )"));
    EXPECT_EQ(one.count("aten::cat"), 1u);
    EXPECT_EQ(has_narrow_result(one), all) << one.text;
    EXPECT_EQ(one.text.find(": bf16[1,16,6,6]") != std::string::npos, all) << one.text;
  }
}

TEST(NarrowResults, WhatIsMovedIs16Bits) {
  const Fused rows = with_narrow_results(with_constants({{"w", {12, 16}}, {"v", {6, 7}}}, "%x: f32[6,12]", R"(
    %a: f32[6,16] = aten::mm(%x, %w)
    %t: f32[16,6] = aten::t_copy(%a)
    %r: f32[2,8,6] = aten::view_copy(%t, [2, 8, 6])
    %s: f32[2,6,6] = aten::slice_copy.Tensor(%r, 1, 1, 7, 1)
    %f: f32[12,6] = aten::view_copy(%s, [12, 6])
    %z: f32[12,7] = aten::mm(%f, %v)
    return %z
  )"));
  EXPECT_TRUE(has_narrow_result(rows)) << rows.text;
  const Fused image = with_narrow_results(
      two_convolutions("%u: f32[1,8,12,12] = aten::upsample_nearest2d.vec(%a, none, [2.0, 2.0])\n" +
                           pooled("u").replace(pooled("u").find("[1, 1], [1, 1], [1, 1]"), 6, "[2, 2]"),
                       "return %z"));
  EXPECT_TRUE(has_narrow_result(image)) << image.text;
}

// One of two who read it: then it is f32 for both, and so is what was moved before.
TEST(NarrowResults, WhatIsReadWideBehindAMoveStays) {
  const Fused one = with_narrow_results(with_constants({{"w", {12, 16}}, {"v", {6, 7}}}, "%x: f32[6,12]", R"(
    %a: f32[6,16] = aten::mm(%x, %w)
    %t: f32[16,6] = aten::t_copy(%a)
    %z: f32[16,7] = aten::mm(%t, %v)
    %c: f32[16,6] = aten::cumsum(%t, 1)
    return %z, %c
  )"));
  EXPECT_FALSE(has_narrow_result(one)) << one.text;
  EXPECT_TRUE(one.says("result in f32: read-as-f32"));
}

// As its input it could be narrow.
TEST(NarrowResults, WhatIsAResidualTooStays) {
  const Fused one = with_narrow_results(with_constants({{"w", {12, 12}}, {"v", {12, 12}}}, "%x: f32[5,12]", R"(
    %a: f32[5,12] = aten::mm(%x, %w)
    %m: f32[5,12] = aten::mm(%a, %v)
    %y: f32[5,12] = aten::add.Tensor(%m, %a, 1)
    return %y
  )"));
  EXPECT_EQ(one.operators(), "berth::linear berth::linear");
  EXPECT_FALSE(has_narrow_result(one)) << one.text;
  EXPECT_TRUE(one.says("result in f32: read-as-f32"));
}

// A result of bf16 is said by an argument, which a text of before does not have.
TEST(NarrowResults, TypesThatNoKernelTakesAreRefused) {
  const auto parses = [](const char* input, const char* weight, const char* added, const char* result) {
    const std::string text = filled(R"(
      method m(%x: $input[2,4], %w: $weight[4,3], %r: f32[2,3]) {
        %y: $result[2,3] = berth::linear(%x, %w, none, $added, "none", 0.0, 0.0, "", $result)
        return %y
      })",
                                    {{"input", input}, {"weight", weight}, {"added", added}, {"result", result}});
    return ir::parse(text).ok();
  };
  EXPECT_TRUE(parses("bf16", "bf16", "none", "bf16"));
  EXPECT_TRUE(parses("f32", "bf16", "none", "bf16"));
  EXPECT_TRUE(parses("bf16", "bf16", "%r", "f32"));
  EXPECT_TRUE(parses("f32", "f16", "none", "f32"));
  EXPECT_FALSE(parses("bf16", "f32", "none", "f32"));
  EXPECT_FALSE(parses("bf16", "f16", "none", "f32"));
  EXPECT_FALSE(parses("f16", "bf16", "none", "f32"));
  EXPECT_FALSE(parses("f32", "f32", "none", "bf16"));
  EXPECT_TRUE(parses("f32", "bf16", "%r", "bf16"));
  EXPECT_FALSE(parses("f32", "bf16", "none", "f16"));
  EXPECT_TRUE(ir::parse(R"(
    method m(%x: f32[2,4], %w: bf16[4,3]) {
      %y: f32[2,3] = berth::linear(%x, %w, none, none, "none", 0.0, 0.0, "")
      return %y
    })")
                  .ok());
}

}  // namespace
}  // namespace berth::fuse
