// Weights in 16 bits. The fears: a weight that becomes infinite or nothing, one that is narrowed without being asked,
// two where one would do, a product that computes something else.
#include "compiler/fuse/narrow_weights.h"

#include "base/half.h"
#include "compiler/fuse/fuse_testing.h"
#ifdef BERTH_HIGHWAY
#include "kernels/cpu/matrix_products.h"
#endif

namespace berth::fuse {
namespace {

// As fuse_module(), for a target that keeps weights so.
Fused narrowed(const std::string& text, DType type, double tolerance = 3e-2, Targets targets = cpu_targets()) {
  Fused result;
  ir::Module module = passes::parsed(text);
  const std::vector<eval::Item> inputs = passes::random_inputs(module, module.methods[0], 7);
  const auto expected = eval::evaluate(module, module.methods[0], inputs);
  EXPECT_TRUE(expected.ok());
  delegate_all(module);
  targets[0].weights = type;
  passes::Options options;
  options.verify = true;
  options.why = {"precision"};
  options.why_lines = &result.why;
  const Status done = passes::run(fuse_passes(targets), module, options);
  EXPECT_TRUE(done.ok()) << done.error().text();
  result.module = std::move(module);
  result.text = ir::print(result.module);
  const auto found = eval::evaluate(result.module, result.module.methods[0], inputs);
  EXPECT_TRUE(found.ok()) << found.error().text() << "\n" << result.text;
  if (!expected.ok() || !found.ok()) return result;
  for (size_t i = 0; i < expected->size(); ++i) passes::expect_close((*expected)[i], (*found)[i], tolerance);
  return result;
}

const std::string kProduct = R"(
  %m: f32[4,16] = aten::mm(%x, %w)
  return %m
)";

TEST(NarrowWeights, ProductsAndConvolutionsTakeThem) {
  for (const DType type : {DType::kBF16, DType::kF16}) {
    const std::string name = to_string(type);
    const Fused product = narrowed(with_constants({{"w", {12, 16}}}, "%x: f32[4,12]", kProduct), type);
    EXPECT_NE(product.text.find(name + "[12,16]"), std::string::npos) << product.text;
    EXPECT_EQ(product.text.find("f32[12,16]"), std::string::npos) << product.text;
    EXPECT_TRUE(product.says(name));
    EXPECT_EQ(narrow_constant_bytes(product.module), 12 * 16 * 2);
    const Fused conv = narrowed(with_constants({{"w", {8, 6, 3, 3}}, {"b", {8}}}, "%x: f32[1,6,5,5]", R"(
      %y: f32[1,8,5,5] = aten::convolution(%x, %w, %b, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
      return %y
    )"),
                                type);
    EXPECT_NE(conv.text.find(name + "[8,6,3,3]"), std::string::npos) << conv.text;
    EXPECT_NE(conv.text.find("f32[8]"), std::string::npos) << "the bias: " << conv.text;
  }
}

TEST(NarrowWeights, ProductsAndConvolutionsOfAnySizeTakeThem) {
  const std::string symbol = "symbol n in [1, 9]\n";
  const Fused product = narrowed(symbol + with_constants({{"w", {12, 16}}}, "%x: f32[n,12]", R"(
    %m: f32[n,16] = aten::mm(%x, %w)
    return %m
  )"),
                                 DType::kBF16);
  EXPECT_NE(product.text.find("bf16[12,16]"), std::string::npos) << product.text;
  const Fused conv = narrowed(symbol + with_constants({{"w", {8, 6, 1, 1}}}, "%x: f32[n,6,5,5]", R"(
    %y: f32[n,8,5,5] = aten::convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    return %y
  )"),
                              DType::kBF16);
  EXPECT_TRUE(conv.says("bf16"));
  EXPECT_NE(conv.text.find("bf16[8,6,1,1]"), std::string::npos) << conv.text;
}

TEST(NarrowWeights, WithoutTheOptionNothingIsNarrow) {
  const Fused one = narrowed(with_constants({{"w", {12, 16}}}, "%x: f32[4,12]", kProduct), DType::kF32, 1e-6);
  EXPECT_EQ(one.text.find("bf16"), std::string::npos) << one.text;
  EXPECT_TRUE(one.why.empty());
  EXPECT_EQ(narrow_constant_bytes(one.module), 0);
}

TEST(NarrowWeights, TwoReadersShareOne) {
  const Fused one = narrowed(with_constants({{"w", {12, 16}}}, "%x: f32[4,12], %z: f32[2,12]", R"(
    %m: f32[4,16] = aten::mm(%x, %w)
    %n: f32[2,16] = aten::mm(%z, %w)
    return %m, %n
  )"),
                             DType::kBF16);
  EXPECT_EQ(narrow_constant_bytes(one.module), 12 * 16 * 2);
}

std::string product_of(const std::string& numbers) {
  return filled(R"(
    const @w: f32[2,2] = dense<[$numbers]>
    method forward(%x: f32[3,2]) {
      %w: f32[2,2] = const @w
      %y: f32[3,2] = aten::mm(%x, %w)
      return %y
    })",
                {{"numbers", numbers}});
}

TEST(NarrowWeights, WhatWouldBecomeInfiniteStaysWide) {
  EXPECT_TRUE(narrowed(product_of("1.0, 65520.0, 3.0, 4.0"), DType::kF16).says("overflow"));
  EXPECT_TRUE(narrowed(product_of("1.0, 65504.0, 3.0, 4.0"), DType::kF16).says("f16"));
  EXPECT_TRUE(narrowed(product_of("1.0, 65520.0, 3.0, 4.0"), DType::kBF16).says("bf16"));
  EXPECT_TRUE(narrowed(product_of("1.0, 3.4028234e38, 3.0, 4.0"), DType::kBF16).says("overflow"));
}

// f16's smallest number is 2^-24, about 6e-8.
TEST(NarrowWeights, WhatWouldBecomeNothingStaysWide) {
  EXPECT_TRUE(narrowed(product_of("1e-8, 2e-8, 3e-8, 1.5e-8"), DType::kF16).says("inexact"));
  EXPECT_TRUE(narrowed(product_of("1e-8, 2e-8, 3e-8, 1.5e-8"), DType::kBF16).says("bf16"));
  // Beside a large one they do not count.
  EXPECT_TRUE(narrowed(product_of("1e-8, 2e-8, 1.0, 1.5e-8"), DType::kF16).says("f16"));
}

TEST(NarrowWeights, EachThatStaysWideSaysWhy) {
  EXPECT_TRUE(narrowed(R"(
    method forward(%x: f32[4,12], %w: f32[12,16]) {
      %m: f32[4,16] = aten::mm(%x, %w)
      return %m
    })",
                       DType::kBF16)
                  .says("not-fused"));
  EXPECT_TRUE(narrowed(with_constants(kConvWeights, "%x: f32[1,3,6,6]", kConv + "return %c"), DType::kBF16)
                  .says("few-channels"));
  EXPECT_TRUE(narrowed(with_constants({{"w", {8, 1, 3, 3}}}, "%x: f32[1,8,5,5]", R"(
    %y: f32[1,8,5,5] = aten::convolution(%x, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 8)
    return %y
  )"),
                       DType::kBF16)
                  .says("depthwise"));
  EXPECT_TRUE(narrowed(with_constants({{"w", {6, 8, 3, 3}}}, "%x: f32[1,6,5,5]", R"(
    %y: f32[1,8,7,7] = aten::convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], true, [0, 0], 1)
    return %y
  )"),
                       DType::kBF16)
                  .says("no-kernel"));
}

// A product with a weight of i8 of two columns, a scale each.
std::string scaled_product(const std::string& scales) {
  std::string numbers = "-127";
  for (int i = 1; i < 64; ++i) numbers += ", " + std::to_string(i * 37 % 255 - 127);
  return filled(R"(
    const @w: i8[32,2] = dense<[$numbers]>
    const @s: f32[2] = dense<[$scales]>
    method forward(%x: f32[3,32]) {
      %w: i8[32,2] = const @w
      %s: f32[2] = const @s
      %c: f32[32,2] = dim_order_ops::_to_dim_order_copy(%w, false, none, f32)
      %m: f32[32,2] = aten::mul.Tensor(%c, %s)
      %y: f32[3,2] = aten::mm(%x, %m)
      return %y
    })",
                {{"numbers", numbers}, {"scales", scales}});
}

TEST(NarrowWeights, ScalesOfNumbersOfFewBitsAreRoundedToF16) {
  for (const DType type : {DType::kBF16, DType::kF16}) {
    const Fused one = narrowed(scaled_product("0.1, -0.3"), type, 1e-3);
    EXPECT_TRUE(one.says("f16")) << one.text;
    int found = 0;
    for (const ir::Constant& constant : one.module.constants) {
      if (constant.name.find("_rounded") == std::string::npos) continue;
      ++found;
      EXPECT_EQ(constant.type.dtype, DType::kF32);
      EXPECT_EQ(floats_of(constant), (std::vector<float>{Half(0.1F), Half(-0.3F)}));
    }
    EXPECT_EQ(found, 1);
    EXPECT_TRUE(narrowed(scaled_product("0.125, -0.0"), type).says("already"));
    EXPECT_TRUE(narrowed(scaled_product("1.0, 65520.0"), type).says("overflow"));
    EXPECT_TRUE(narrowed(scaled_product("1e-8, 2e-8"), type).says("inexact"));
  }
  EXPECT_TRUE(narrowed(scaled_product("0.1, -0.3"), DType::kF32, 1e-5).why.empty());
}

// As the target `vulkan` has it: any product of any order takes a narrow weight, and tensors of 16 bits stay what they
// are.
Fused narrowed_on_device(const std::string& text, DType type) {
  Targets targets = cpu_targets();
  targets[0].depth_last = true;
  targets[0].narrow_tensors = true;
  return narrowed(text, type, 3e-2, std::move(targets));
}

TEST(NarrowWeights, KernelsForNarrowTensorsTakeAll) {
  const Fused ordered = narrowed_on_device(with_constants({{"w", {12, 16}}}, "%x: f32[4,12]", kProduct), DType::kF16);
  EXPECT_NE(ordered.text.find("f16[12,16]{1,0}"), std::string::npos) << ordered.text;
  const Fused transposed = narrowed_on_device(with_constants({{"w", {6, 8, 3, 3}}}, "%x: f32[1,6,5,5]", R"(
    %y: f32[1,8,7,7] = aten::convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], true, [0, 0], 1)
    return %y
  )"),
                                              DType::kBF16);
  EXPECT_TRUE(transposed.says("bf16")) << transposed.text;
  EXPECT_TRUE(narrowed_on_device("symbol n in [1, 9]\n" + with_constants({{"w", {8, 6, 3, 3}}}, "%x: f32[n,6,5,5]", R"(
    %y: f32[n,8,3,3] = aten::convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    return %y
  )"),
                                 DType::kF16)
                  .says("f16"));
}

TEST(NarrowWeights, WhatWouldLoseMostStaysWideThereToo) {
  EXPECT_TRUE(narrowed_on_device(with_constants(kConvWeights, "%x: f32[1,3,6,6]", kConv + "return %c"), DType::kBF16)
                  .says("few-channels"));
  const Fused forward = narrowed_on_device(with_constants({{"w", {8, 1, 3, 3}}}, "%x: f32[1,8,5,5]", R"(
    %y: f32[1,8,5,5] = aten::convolution(%x, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 8)
    return %y
  )"),
                                           DType::kF16);
  EXPECT_TRUE(forward.says("depthwise"));
  const Fused transposed = narrowed_on_device(with_constants({{"w", {8, 2, 3, 3}}}, "%x: f32[1,8,5,5]", R"(
    %y: f32[1,16,7,7] = aten::convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], true, [0, 0], 8)
    return %y
  )"),
                                              DType::kF16);
  EXPECT_TRUE(transposed.says("depthwise"));
}

TEST(NarrowWeights, ProductsOfNarrowTensorsNeedNoCastsThere) {
  const std::string text = R"(
    const @w: f16[12,16] = splat<0.125>
    method forward(%x: f16[4,12]) {
      %w: f16[12,16] = const @w
      %m: f16[4,16] = aten::mm(%x, %w)
      return %m
    }
  )";
  const Fused product = narrowed_on_device(text, DType::kF16);
  EXPECT_NE(product.text.find("aten::mm"), std::string::npos) << product.text;
  EXPECT_EQ(product.text.find("f32"), std::string::npos) << product.text;
}

#ifdef BERTH_HIGHWAY

// Where Winograd's kernels of f32 are faster, the weight is narrow in the file all the same.
TEST(NarrowWeights, WhatIsFasterInF32HasAWeightOfF16) {
  cpu::forbid_matrices(true);
  const Fused one = narrowed(with_constants({{"w", {32, 32, 3, 3}}}, "%x: f32[1,32,28,28]", R"(
    %y: f32[1,32,28,28] = aten::convolution(%x, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
    return %y
  )"),
                             DType::kBF16);
  cpu::forbid_matrices(false);
  EXPECT_TRUE(one.says("f16: fewer-products"));
  EXPECT_NE(one.text.find(": f16[32,32,3,3]"), std::string::npos) << one.text;
}

// Registers of pixels are best for a mask of one channel, and matrices, where the processor has them, for three
// colours.
TEST(NarrowWeights, LastConvolutionsAreNarrowWhereMatricesAreFaster) {
  const auto last = [](const std::string& channels) {
    return narrowed(with_constants({{"w", {std::stoi(channels), 32, 3, 3}}}, "%x: f32[1,32,28,28]",
                                   "%y: f32[1," + channels + R"(,28,28] = aten::convolution(%x, %w, none, [1, 1],
        [1, 1], [1, 1], false, [0, 0], 1)
    return %y
  )"),
                    DType::kBF16);
  };
  EXPECT_TRUE(last("1").says("f16: fewer-products"));
  EXPECT_EQ(last("3").says("f16: fewer-products"), !cpu::has_bf16_matrices());
  cpu::forbid_matrices(true);
  EXPECT_TRUE(last("3").says("f16: fewer-products"));
  cpu::forbid_matrices(false);
}

#endif

}  // namespace
}  // namespace berth::fuse
