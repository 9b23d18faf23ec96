// Layer norm as exporters write it out. The fears: a norm of columns taken for one of rows, another divisor, a factor
// that is not one a column, and intermediate results that others read.
#include "compiler/fuse/fuse_layer_norms.h"

#include "base/text_testing.h"
#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

constexpr const char* kDistances = R"(
      %m: f32[$n,5,1] = aten::mean.dim(%x, [-1], true, none)
      %d: f32[$n,5,6] = aten::sub.Tensor(%x, %m, 1)
      )";
constexpr const char* kSquares = R"(
      %q: f32[$n,5,6] = aten::mul.Tensor(%d, %d)
      %v: f32[$n,5,1] = aten::mean.dim(%q, [2], true, none)
      )";
constexpr const char* kQuotient = R"(
      %e: f32[$n,5,1] = aten::add.Tensor(%v, %eps, 1)
      %s: f32[$n,5,1] = aten::sqrt(%e)
      %y: f32[$n,5,6] = aten::div.Tensor(%d, %s)
      )";

std::string norm(const std::string& variance, const std::string& quotient, const std::string& behind = "",
                 const std::string& result = "%y", const std::string& batch = "2",
                 const std::string& rows = kDistances) {
  return filled(R"(
    const @eps: f32[] = dense<[0.001]>
    const @w: f32[6] = dense<[1, 2, 3, 4, 5, 6]>
    const @b: f32[1,1,6] = dense<[0.5, 0.25, 0, -1, 2, 1]>
    const @column: f32[5,1] = dense<[1, 2, 3, 4, 5]>
    method forward(%x: f32[$n,5,6]) {
      %eps: f32[] = const @eps
      %w: f32[6] = const @w
      %b: f32[1,1,6] = const @b
      %column: f32[5,1] = const @column
      )" + rows + variance +
                    quotient + behind + "\n      return " + result + "\n    }",
                {{"n", batch}});
}

TEST(FuseLayerNorms, EachFormIsTheOperator) {
  const char* const kVariances[] = {kSquares,
                                    R"(
      %q: f32[$n,5,6] = aten::pow.Tensor_Scalar(%d, 2.0)
      %u: f32[$n,5] = aten::mean.dim(%q, [2], false, none)
      %v: f32[$n,5,1] = aten::view_copy(%u, [$n, 5, 1])
      )",
                                    "%v: f32[$n,5,1] = aten::var.correction(%x, [2], 0, true)\n"};
  const char* const kQuotients[] = {kQuotient,
                                    R"(
      %e: f32[$n,5,1] = aten::add.Scalar(%v, 0.001, 1)
      %r: f32[$n,5,1] = aten::rsqrt(%e)
      %y: f32[$n,5,6] = aten::mul.Tensor(%r, %d)
      )",
                                    R"(
      %e: f32[$n,5,1] = aten::add.Tensor(%eps, %v, 1)
      %s: f32[$n,5,1] = aten::sqrt(%e)
      %r: f32[$n,5,1] = aten::reciprocal(%s)
      %y: f32[$n,5,6] = aten::mul.Tensor(%d, %r)
      )"};
  for (const char* variance : kVariances) {
    for (const char* quotient : kQuotients) {
      const Fused one = fused(norm(variance, quotient));
      EXPECT_EQ(one.operators(), "aten::native_layer_norm") << one.text;
      EXPECT_NE(one.text.find("[6], none, none, 0.001"), std::string::npos) << one.text;
    }
  }
}

TEST(FuseLayerNorms, AFactorAndANumberToAddAreTakenIn) {
  const Fused both = fused(norm(kSquares, kQuotient, R"(
      %z: f32[2,5,6] = aten::mul.Tensor(%w, %y)
      %a: f32[2,5,6] = aten::add.Tensor(%z, %b, 1))",
                                "%a"));
  EXPECT_EQ(both.operators(), "aten::native_layer_norm") << both.text;
  // One a row stays what it is, and so does a second one.
  const Fused row = fused(norm(kSquares, kQuotient, "%z: f32[2,5,6] = aten::mul.Tensor(%y, %column)", "%z"));
  EXPECT_EQ(row.operators(), "aten::native_layer_norm aten::mul.Tensor") << row.text;
  const Fused twice = fused(norm(kSquares, kQuotient, R"(
      %z: f32[2,5,6] = aten::mul.Tensor(%y, %w)
      %a: f32[2,5,6] = aten::mul.Tensor(%z, %b))",
                                 "%a"));
  EXPECT_EQ(twice.operators(), "aten::native_layer_norm aten::mul.Tensor") << twice.text;
}

TEST(FuseLayerNorms, AnyNumberOfRowsIsOneToo) {
  EXPECT_EQ(fused_at_every_size({{"n", 1, 4}}, norm(kSquares, kQuotient, "", "%y", "n")).operators(),
            "aten::native_layer_norm");
}

// As ConvNeXt and SAM have it over the channels of an image. The fears: rows that are not pixels, and a weight that is
// taken for one a column of the image.
TEST(FuseLayerNorms, ChannelsOfImagesAreNormalisedAsRowsOfPixels) {
  const auto image = [](const std::string& dim, const std::string& one, const std::string& weight) {
    return fused(filled(R"(
    const @w: f32[$weight] = dense<[1, 2, 3]>
    method forward(%x: f32[2,3,4,5]) {
      %w: f32[$weight] = const @w
      %m: f32[$one] = aten::mean.dim(%x, [$dim], true, none)
      %d: f32[2,3,4,5] = aten::sub.Tensor(%x, %m, 1)
      %q: f32[2,3,4,5] = aten::pow.Tensor_Scalar(%d, 2.0)
      %v: f32[$one] = aten::mean.dim(%q, [$dim], true, none)
      %e: f32[$one] = aten::add.Scalar(%v, 0.001, 1)
      %s: f32[$one] = aten::sqrt(%e)
      %y: f32[2,3,4,5] = aten::div.Tensor(%d, %s)
      %z: f32[2,3,4,5] = aten::mul.Tensor(%w, %y)
      %a: f32[2,3,4,5] = aten::add.Tensor(%z, %w, 1)
      return %a
    })",
                        {{"dim", dim}, {"one", one}, {"weight", weight}}));
  };
  const Fused channels = image("1", "2,1,4,5", "3,1,1");
  EXPECT_EQ(channels.operators(),
            "aten::permute_copy aten::native_layer_norm aten::permute_copy dim_order_ops::_clone_dim_order")
      << channels.text;
  EXPECT_EQ(image("-3", "2,1,4,5", "1,3,1,1").operators(), channels.operators());
  EXPECT_EQ(image("2", "2,3,1,5", "3,1,1").count("aten::native_layer_norm"), 0u);
}

TEST(FuseLayerNorms, WhatIsNotOneStays) {
  const std::string other_variance = "%v: f32[$n,5,1] = aten::var.correction(%x, [2], 1, true)\n";
  const std::string squares = R"(
      %q: f32[$n,5,6] = aten::mul.Tensor(%x, %x)
      %v: f32[$n,5,1] = aten::mean.dim(%q, [2], true, none)
      )";
  const std::string columns = R"(
      %m: f32[$n,1,6] = aten::mean.dim(%x, [1], true, none)
      %d: f32[$n,5,6] = aten::sub.Tensor(%x, %m, 1)
      )";
  for (const std::string& text :
       {norm(other_variance, kQuotient), norm(squares, kQuotient), norm(kSquares, kQuotient, "", "%y", "2", columns),
        norm(kSquares, kQuotient, "", "%y, %d"), norm(kSquares, kQuotient, "", "%y, %m"),
        norm(kSquares, kQuotient, "", "%y, %s"), norm(kSquares, kQuotient, "", "%y, %v")}) {
    EXPECT_EQ(fused(text).operators().find("native_layer_norm"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace berth::fuse
