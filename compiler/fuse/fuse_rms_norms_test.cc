// RMS norm as models write it out. The fears: a norm of columns taken for one of rows, a root of something else, a
// factor that is not one a column, and intermediate results that others read.
#include "compiler/fuse/fuse_rms_norms.h"

#include "base/text_testing.h"
#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

constexpr const char* kRowSquares = R"(
      %q: f32[$n,5,6] = aten::mul.Tensor(%x, %x)
      %v: f32[$n,5,1] = aten::mean.dim(%q, [-1], true, none)
      )";
constexpr const char* kRoot = R"(
      %e: f32[$n,5,1] = aten::add.Scalar(%v, 0.001, 1)
      %s: f32[$n,5,1] = aten::rsqrt(%e)
      %y: f32[$n,5,6] = aten::mul.Tensor(%x, %s)
      )";

std::string rms(const std::string& squares, const std::string& root, const std::string& behind = "",
                const std::string& result = "%y", const std::string& batch = "2") {
  return filled(R"(
    const @w: f32[6] = dense<[1, 2, 3, 4, 5, 6]>
    const @one: f32[] = dense<[1]>
    const @column: f32[5,1] = dense<[1, 2, 3, 4, 5]>
    method forward(%x: f32[$n,5,6], %z: f32[$n,5,6]) {
      %w: f32[6] = const @w
      %one: f32[] = const @one
      %column: f32[5,1] = const @column
      )" + squares + root +
                    behind + "\n      return " + result + "\n    }",
                {{"n", batch}});
}

TEST(FuseRmsNorms, EachFormIsTheOperator) {
  const char* const kForms[] = {kRowSquares,
                                R"(
      %q: f32[$n,5,6] = aten::pow.Tensor_Scalar(%x, 2.0)
      %u: f32[$n,5] = aten::mean.dim(%q, [2], false, none)
      %v: f32[$n,5,1] = aten::view_copy(%u, [$n, 5, 1])
      )"};
  const char* const kRoots[] = {kRoot,
                                R"(
      %e: f32[$n,5,1] = aten::add.Scalar(%v, 0.001, 1)
      %s: f32[$n,5,1] = aten::sqrt(%e)
      %y: f32[$n,5,6] = aten::div.Tensor(%x, %s)
      )",
                                R"(
      %e: f32[$n,5,1] = aten::add.Scalar(%v, 0.001, 1)
      %s: f32[$n,5,1] = aten::sqrt(%e)
      %r: f32[$n,5,1] = aten::div.Tensor(%one, %s)
      %y: f32[$n,5,6] = aten::mul.Tensor(%r, %x)
      )"};
  for (const char* squares : kForms) {
    for (const char* root : kRoots) {
      const Fused one = fused(rms(squares, root));
      EXPECT_EQ(one.operators(), "berth::rms_norm") << one.text;
      EXPECT_NE(one.text.find("none, 0.001)"), std::string::npos) << one.text;
    }
  }
}

TEST(FuseRmsNorms, AFactorIsTakenInAndOthersMayReadTheInput) {
  const Fused both = fused(rms(kRowSquares, kRoot, R"(
      %a: f32[2,5,6] = aten::mul.Tensor(%w, %y)
      %b: f32[2,5,6] = aten::sub.Tensor(%x, %a, 1))",
                               "%a, %b"));
  EXPECT_EQ(both.operators(), "berth::rms_norm aten::sub.Tensor") << both.text;
  const Fused row = fused(rms(kRowSquares, kRoot, "%a: f32[2,5,6] = aten::mul.Tensor(%y, %column)", "%a"));
  EXPECT_EQ(row.operators(), "berth::rms_norm aten::mul.Tensor") << row.text;
}

TEST(FuseRmsNorms, AnyNumberOfRowsIsOneToo) {
  EXPECT_EQ(fused_at_every_size({{"n", 1, 4}}, rms(kRowSquares, kRoot, "", "%y", "n")).operators(), "berth::rms_norm");
}

TEST(FuseRmsNorms, ChannelsOfImagesAreNormalisedAsRowsOfPixels) {
  const Fused image = fused(R"(
    const @w: f32[3,1,1] = dense<[1, 2, 3]>
    method forward(%x: f32[2,3,4,5]) {
      %w: f32[3,1,1] = const @w
      %q: f32[2,3,4,5] = aten::pow.Tensor_Scalar(%x, 2)
      %v: f32[2,1,4,5] = aten::mean.dim(%q, [1], true, none)
      %e: f32[2,1,4,5] = aten::add.Scalar(%v, 0.001, 1)
      %s: f32[2,1,4,5] = aten::rsqrt(%e)
      %y: f32[2,3,4,5] = aten::mul.Tensor(%x, %s)
      %z: f32[2,3,4,5] = aten::mul.Tensor(%y, %w)
      return %z
    })");
  EXPECT_EQ(image.operators(), "aten::permute_copy berth::rms_norm aten::permute_copy dim_order_ops::_clone_dim_order")
      << image.text;
}

TEST(FuseRmsNorms, WhatIsNotOneStays) {
  const std::string other = R"(
      %q: f32[$n,5,6] = aten::mul.Tensor(%x, %z)
      %v: f32[$n,5,1] = aten::mean.dim(%q, [-1], true, none)
      )";
  const std::string sum = R"(
      %q: f32[$n,5,6] = aten::mul.Tensor(%x, %x)
      %v: f32[$n,5,1] = aten::sum.dim_IntList(%q, [-1], true, none)
      )";
  const std::string columns = R"(
      %q: f32[$n,5,6] = aten::mul.Tensor(%x, %x)
      %v: f32[$n,1,6] = aten::mean.dim(%q, [1], true, none)
      %e: f32[$n,1,6] = aten::add.Scalar(%v, 0.001, 1)
      %s: f32[$n,1,6] = aten::rsqrt(%e)
      %y: f32[$n,5,6] = aten::mul.Tensor(%x, %s)
      )";
  for (const std::string& text :
       {rms(other, kRoot), rms(sum, kRoot), rms(columns, ""), rms(kRowSquares, kRoot, "", "%y, %s"),
        rms(kRowSquares, kRoot, "", "%y, %v"), rms(kRowSquares, kRoot, "", "%y, %q")}) {
    EXPECT_EQ(fused(text).count("berth::rms_norm"), 0u) << text;
  }
}

}  // namespace
}  // namespace berth::fuse
