// Sums over rows of products. The fears: a bias that counts once and not for each row; rows of another sum; a product
// that others read as well, computed twice.
#include "compiler/fuse/sum_before_product.h"

#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

const Constants kLayer = {{"w", {6, 5}}, {"b", {5}}};

Fused fused_sum(const std::string& signature, const std::string& body) {
  return fuse_module(passes::parsed(with_constants(kLayer, signature, body)));
}

// Whether some matrix of so many rows is multiplied.
bool has_rows(const Fused& f, const std::string& rows) {
  return f.text.find("f32[" + rows + ",5] = berth::linear") != std::string::npos;
}

const std::string kPairs = R"(
  %rows: f32[56,6] = aten::view_copy(%x, [56, 6])
  %p: f32[56,5] = aten::addmm(%b, %rows, %w, 1, 1)
  %pairs: f32[2,4,7,5] = aten::view_copy(%p, [2, 4, 7, 5])
  %each: f32[2,4,7,1] = aten::unsqueeze_copy(%e, 3)
)";
const std::string kPairsAndWeights = "%x: f32[2,4,7,6], %e: f32[2,4,7]";

TEST(SumBeforeProduct, WeighsRowsBeforeTheyAreMultiplied) {
  for (const char* order : {"%pairs, %each", "%each, %pairs"}) {
    const Fused f =
        fused_sum(kPairsAndWeights, kPairs + "%m: f32[2,4,7,5] = aten::mul.Tensor(" + order + ")\n" +
                                        "%s: f32[2,4,5] = aten::sum.dim_IntList(%m, [2], false, none)\n" + "return %s");
    EXPECT_TRUE(has_rows(f, "8")) << f.text;
    EXPECT_FALSE(has_rows(f, "56")) << f.text;
  }
}

TEST(SumBeforeProduct, SumsOverSeveralDimensions) {
  const Fused f = fused_sum(kPairsAndWeights, kPairs + R"(
    %m: f32[2,4,7,5] = aten::mul.Tensor(%pairs, %each)
    %s: f32[2,1,1,5] = aten::sum.dim_IntList(%m, [-2, 1], true, none)
    return %s)");
  EXPECT_TRUE(has_rows(f, "2")) << f.text;
}

TEST(SumBeforeProduct, ASumOfNoDimensionsStays) {
  const Fused f = fused_sum("%x: f32[], %y: f32[]", R"(
    %m: f32[] = aten::mul.Tensor(%x, %y)
    %s: f32[] = aten::sum.dim_IntList(%m, [0], false, none)
    %t: f32[] = aten::mean.dim(%s, [-1], false, none)
    return %t)");
  EXPECT_NE(f.text.find("aten::sum"), std::string::npos) << f.text;
}

TEST(SumBeforeProduct, WithoutWeightsTheBiasCountsForEachRow) {
  const std::string product = R"(
    %rows: f32[14,6] = aten::view_copy(%x, [14, 6])
    %p: f32[14,5] = aten::addmm(%b, %rows, %w, 1, 1)
    %v: f32[2,7,5] = aten::view_copy(%p, [2, 7, 5])
  )";
  const Fused sum = fused_sum("%x: f32[2,7,6]", product + R"(
    %s: f32[2,5] = aten::sum.dim_IntList(%v, [1], false, none)
    return %s)");
  EXPECT_TRUE(has_rows(sum, "2")) << sum.text;
  const Fused mean = fused_sum("%x: f32[2,7,6]", product + R"(
    %s: f32[2,1,5] = aten::mean.dim(%v, [1], true, none)
    return %s)");
  EXPECT_TRUE(has_rows(mean, "2")) << mean.text;
}

TEST(SumBeforeProduct, ProductsWithoutABiasToo) {
  const Fused f = fused_sum("%x: f32[7,6]", R"(
    %p: f32[7,5] = aten::mm(%x, %w)
    %s: f32[5] = aten::sum.dim_IntList(%p, [0], false, none)
    return %s)");
  EXPECT_TRUE(has_rows(f, "1")) << f.text;
}

TEST(SumBeforeProduct, WhatIsNotASumOfRowsStays) {
  const auto stays = [](const std::string& body) {
    const Fused f = fused_sum("%x: f32[2,4,7,6], %e: f32[2,4,7], %c: f32[2,4,7,5]", kPairs + body);
    EXPECT_TRUE(has_rows(f, "56")) << f.text;
  };
  // Over the columns; over rows of different sums; of products that are read elsewhere; by weights of the columns.
  stays("%s: f32[2,4,7] = aten::sum.dim_IntList(%pairs, [3], false, none)\nreturn %s");
  stays("%s: f32[4,7,5] = aten::sum.dim_IntList(%pairs, [0], false, none)\nreturn %s");
  stays("%s: f32[2,4,5] = aten::sum.dim_IntList(%pairs, [2], false, none)\nreturn %s, %pairs");
  stays(
      "%m: f32[2,4,7,5] = aten::mul.Tensor(%pairs, %c)\n"
      "%s: f32[2,4,5] = aten::sum.dim_IntList(%m, [2], false, none)\nreturn %s");
  // Something stands between.
  stays(
      "%r: f32[2,4,7,5] = aten::relu(%pairs)\n"
      "%s: f32[2,4,5] = aten::sum.dim_IntList(%r, [2], false, none)\nreturn %s");
}

}  // namespace
}  // namespace berth::fuse
