// Products with what follows them. The fears: something taken that others read too, something left without a reason.
#include "compiler/fuse/fuse_products.h"

#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

const char kImages[] = "%x: f32[1,3,6,6], %r: f32[1,4,6,6]";

TEST(FuseProducts, AConvolutionTakesBiasResidualAndActivation) {
  const Fused one = fused(with_constants(kConvWeights, kImages, kConv + R"(
    %s: f32[1,4,6,6] = aten::add.Tensor(%r, %c, 1)
    %y: f32[1,4,6,6] = aten::relu(%s)
    return %y
  )"));
  EXPECT_EQ(one.operators(),
            "dim_order_ops::_clone_dim_order dim_order_ops::_clone_dim_order berth::conv "
            "dim_order_ops::_clone_dim_order");
  EXPECT_NE(one.text.find("\"relu\""), std::string::npos) << one.text;
  EXPECT_TRUE(one.says("fused into berth::conv"));
}

TEST(FuseProducts, NothingFusesAfterAnActivation) {
  const Fused one = fused(with_constants(kConvWeights, kImages, kConv + R"(
    %s: f32[1,4,6,6] = aten::relu(%c)
    %y: f32[1,4,6,6] = aten::add.Tensor(%s, %r, 1)
    return %y
  )"));
  EXPECT_NE(one.operators().find("aten::add.Tensor"), std::string::npos) << one.text;
  EXPECT_TRUE(one.says("activation-before"));
}

TEST(FuseProducts, ValuesWithOtherReadersAreNotFused) {
  const Fused one = fused(with_constants(kConvWeights, kImages, kConv + R"(
    %y: f32[1,4,6,6] = aten::relu(%c)
    return %y, %c
  )"));
  EXPECT_NE(one.operators().find("aten::relu"), std::string::npos) << one.text;
  EXPECT_TRUE(one.says("result-read-elsewhere"));
}

TEST(FuseProducts, AComputedWeightIsNotConstant) {
  const Fused one = fused(R"(
    method forward(%x: f32[1,3,6,6], %w: f32[4,3,3,3]) {
      %c: f32[1,4,4,4] = aten::convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
      return %c
    })");
  EXPECT_NE(one.operators().find("aten::convolution"), std::string::npos) << one.text;
  EXPECT_TRUE(one.says("not-constant"));
}

// Of models that are narrow themselves: the weight stays so, the sum is made in f32 and rounded once.
TEST(FuseProducts, NarrowProductsKeepTheirWeightsBetweenCasts) {
  for (const std::string type : {"bf16", "f16"}) {
    const Fused one = fuse_module(passes::parsed(filled(R"(
      const @w: $t[3,2] = dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.5]>
      const @b: $t[2] = dense<[1.0, -2.0]>
      method forward(%x: $t[4,3], %r: $t[4,2]) {
        %w: $t[3,2] = const @w
        %b: $t[2] = const @b
        %m: $t[4,2] = aten::mm(%x, %w)
        %s: $t[4,2] = aten::add.Tensor(%m, %b, 1)
        %a: $t[4,2] = aten::add.Tensor(%r, %s, 1)
        %y: $t[4,2] = aten::relu(%a)
        return %y
      })",
                                                        {{"t", type}})),
                                  7, 2e-2);
    EXPECT_EQ(one.operators(),
              "dim_order_ops::_to_dim_order_copy dim_order_ops::_to_dim_order_copy berth::linear "
              "dim_order_ops::_to_dim_order_copy")
        << one.text;
    EXPECT_NE(one.text.find(type + "[3,2]"), std::string::npos) << one.text;
  }
}

// Products take any number of rows; convolutions with a narrow weight want to know sizes.
TEST(FuseProducts, NarrowProductsMayHaveOpenSizes) {
  for (const std::string type : {"bf16", "f16"}) {
    const Fused one = fuse_module(passes::parsed(filled(R"(
      symbol n in [1, 9]
      const @w: $t[3,2] = dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.5]>
      const @k: $t[2,2,1,1] = dense<[1.0, 2.0, 3.0, 4.0]>
      method forward(%x: $t[n,3], %i: $t[n,2,3,3]) {
        %w: $t[3,2] = const @w
        %k: $t[2,2,1,1] = const @k
        %m: $t[n,2] = aten::mm(%x, %w)
        %c: $t[n,2,3,3] = aten::convolution(%i, %k, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
        return %m, %c
      })",
                                                        {{"t", type}})),
                                  7, 2e-2);
    EXPECT_NE(one.operators().find("berth::linear"), std::string::npos) << one.text;
    EXPECT_NE(one.operators().find("aten::convolution"), std::string::npos) << one.text;
  }
}

// What was rounded to bf16 between two products is rounded by the second: nothing is lost without the casts.
TEST(FuseProducts, NarrowProductsInARowStayInF32) {
  const Fused one = fuse_module(passes::parsed(R"(
    const @w: bf16[2,2] = dense<[1.0, 2.0, 3.0, 4.0]>
    method forward(%x: bf16[4,2]) {
      %w: bf16[2,2] = const @w
      %m: bf16[4,2] = aten::mm(%x, %w)
      %y: bf16[4,2] = aten::mm(%m, %w)
      return %y
    })"),
                                7, 1e-6);
  EXPECT_EQ(one.operators(),
            "dim_order_ops::_to_dim_order_copy berth::linear berth::linear dim_order_ops::_to_dim_order_copy")
      << one.text;
}

TEST(FuseProducts, OtherTypesThanF32StayUnfused) {
  const Fused one = fused(R"(
    const @w: f64[2,2] = dense<[1.0, 2.0, 3.0, 4.0]>
    method forward(%x: f64[3,2]) {
      %w: f64[2,2] = const @w
      %y: f64[3,2] = aten::mm(%x, %w)
      return %y
    })");
  EXPECT_EQ(one.operators(), "aten::mm");
  EXPECT_TRUE(one.says("dtype"));
}

TEST(FuseProducts, AResidualIsAsLargeAsTheResultOrStaysASum) {
  const Fused one = fused(with_constants(kConvWeights, "%x: f32[1,3,6,6], %r: f32[1,4,1,6]", kConv + R"(
    %y: f32[1,4,6,6] = aten::add.Tensor(%c, %r, 1)
    return %y
  )"));
  EXPECT_NE(one.operators().find("aten::add.Tensor"), std::string::npos) << one.text;
  EXPECT_TRUE(one.says("shape-differs"));
}

TEST(FuseProducts, ASumWithAFactorIsNotAResidual) {
  const Fused one = fused(with_constants(kConvWeights, kImages, kConv + R"(
    %y: f32[1,4,6,6] = aten::add.Tensor(%c, %r, 2)
    return %y
  )"));
  EXPECT_NE(one.operators().find("aten::add.Tensor"), std::string::npos) << one.text;
  EXPECT_TRUE(one.says("scaled"));
}

TEST(FuseProducts, ASecondResidualStaysASum) {
  const Fused one = fused(with_constants(kConvWeights, kImages, kConv + R"(
    %s: f32[1,4,6,6] = aten::add.Tensor(%c, %r, 1)
    %t: f32[1,4,6,6] = aten::sigmoid(%r)
    %y: f32[1,4,6,6] = aten::add.Tensor(%s, %t, 1)
    return %y
  )"));
  EXPECT_TRUE(one.says("residual-already"));
}

TEST(FuseProducts, AConstantPerChannelIsABias) {
  const Fused one = fused(with_constants({{"w", {4, 3, 1, 1}}, {"b", {1, 4, 1, 1}}}, "%x: f32[2,3,5,5]", R"(
    %c: f32[2,4,5,5] = aten::convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %y: f32[2,4,5,5] = aten::add.Tensor(%c, %b, 1)
    return %y
  )"));
  EXPECT_EQ(one.operators().find("aten::add"), std::string::npos) << one.text;
}

TEST(FuseProducts, AProductTakesResidualAndActivationThroughViews) {
  const Fused one = fused(with_constants({{"w", {3, 5}}, {"b", {5}}}, "%x: f32[2,2,3], %r: f32[2,2,5]", R"(
    %v: f32[4,3] = aten::view_copy(%x, [4, 3])
    %m: f32[4,5] = aten::addmm(%b, %v, %w, 1, 1)
    %u: f32[2,2,5] = aten::view_copy(%m, [2, 2, 5])
    %s: f32[2,2,5] = aten::add.Tensor(%u, %r, 1)
    %y: f32[2,2,5] = aten::gelu(%s, "tanh")
    return %y
  )"));
  EXPECT_EQ(one.operators(), "berth::linear") << one.text;
}

TEST(FuseProducts, ScaledProductsStayUnfused) {
  const Fused one = fused(with_constants({{"w", {3, 5}}, {"b", {5}}}, "%x: f32[4,3]", R"(
    %m: f32[4,5] = aten::addmm(%b, %x, %w, 1, 0.5)
    return %m
  )"));
  EXPECT_EQ(one.operators(), "aten::addmm");
  EXPECT_TRUE(one.says("scaled"));
}

// As many zeros as stand beside the edge would make NaN of it.
TEST(FuseProducts, LeavesTransposedConvolutionsWithInfiniteWeights) {
  const auto text = [](const char* last) {
    return std::string("const @w: f32[1,1,1,2] = dense<[1.0, ") + last + R"(]>
      method forward(%x: f32[1,1,1,3]) {
        %w: f32[1,1,1,2] = const @w
        %y: f32[1,1,1,5] = aten::convolution(%x, %w, none, [1, 1], [0, 0], [1, 2], true, [0, 0], 1)
        return %y
      })";
  };
  EXPECT_NE(fused(text("2.0")).operators().find("berth::conv"), std::string::npos);
  const Fused kept = fused(text("inf"));
  EXPECT_NE(kept.operators().find("aten::convolution"), std::string::npos);
  EXPECT_TRUE(kept.says("not-finite"));
}

}  // namespace
}  // namespace berth::fuse
