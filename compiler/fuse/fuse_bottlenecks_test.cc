// Convolutions by rows. The fears: an image that others read is gone, or a small one is worked off by rows for nothing.
#include "compiler/fuse/fuse_bottlenecks.h"

#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

const Constants kWeights = {{"w1", {64, 12, 1, 1}}, {"w2", {64, 1, 3, 3}}, {"b2", {64}}, {"w3", {12, 64, 1, 1}}};
// An image of 1 MiB, and one of a quarter of that.
const std::string kExpand = R"(
  %a: f32[1,64,64,64] = aten::convolution(%x, %w1, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
  %b: f32[1,64,64,64] = aten::relu(%a)
)";
const std::string kNear = R"(
  %c: f32[1,64,64,64] = aten::convolution(%b, %w2, %b2, [1, 1], [1, 1], [1, 1], false, [0, 0], 64)
  %d: f32[1,64,64,64] = aten::hardtanh(%c, 0.0, 6.0)
  %e: f32[1,12,64,64] = aten::convolution(%d, %w3, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
)";
const std::string kFar = R"(
  %c: f32[1,64,32,32] = aten::convolution(%b, %w2, none, [2, 2], [1, 1], [1, 1], false, [0, 0], 64)
  %d: f32[1,64,32,32] = aten::relu(%c)
  %e: f32[1,12,32,32] = aten::convolution(%d, %w3, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
)";
const std::string kImage = "%x: f32[1,12,64,64]";

int count(const Fused& one, const std::string& name) {
  const std::string operators = one.operators() + " ";
  int found = 0;
  for (size_t at = operators.find(name + " "); at != std::string::npos; at = operators.find(name + " ", at + 1))
    ++found;
  return found;
}

TEST(FuseBottlenecks, ABlockIsOneOperatorWithItsResidual) {
  const Fused one = fused(with_constants(kWeights, kImage, kExpand + kNear + R"(
    %y: f32[1,12,64,64] = aten::add.Tensor(%x, %e, 1)
    return %y
  )"));
  EXPECT_EQ(count(one, "berth::inverted_residual"), 1) << one.text;
  EXPECT_EQ(count(one, "berth::conv"), 0) << one.text;
  EXPECT_TRUE(one.says("fused into berth::inverted_residual"));
}

TEST(FuseBottlenecks, WhatOthersReadStaysWhole) {
  const Fused wide = fused(with_constants(kWeights, kImage, kExpand + kNear + "return %e, %b"));
  EXPECT_EQ(count(wide, "berth::inverted_residual"), 1) << wide.text;
  EXPECT_EQ(count(wide, "berth::conv"), 1) << wide.text;
  EXPECT_TRUE(wide.says("result-read-elsewhere: berth::inverted_residual"));
  const Fused seen = fused(with_constants(kWeights, kImage, kExpand + kNear + "return %e, %d"));
  EXPECT_EQ(count(seen, "berth::inverted_residual"), 1) << seen.text;
  EXPECT_EQ(count(seen, "berth::conv"), 1) << seen.text;
  const Fused both = fused(with_constants(kWeights, kImage, kExpand + kNear + "return %e, %d, %b"));
  EXPECT_EQ(count(both, "berth::inverted_residual"), 0) << both.text;
}

TEST(FuseBottlenecks, ASmallImageStaysWhole) {
  const Fused far = fused(with_constants(kWeights, kImage, kExpand + kFar + "return %e"));
  EXPECT_EQ(count(far, "berth::inverted_residual"), 1) << far.text;
  const Fused small = fused(with_constants(kWeights, "%b: f32[1,64,32,32]", R"(
    %c: f32[1,64,32,32] = aten::convolution(%b, %w2, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 64)
    %e: f32[1,12,32,32] = aten::convolution(%c, %w3, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    return %e
  )"));
  EXPECT_EQ(count(small, "berth::inverted_residual"), 0) << small.text;
  EXPECT_TRUE(small.says("small: berth::inverted_residual"));
}

// The result would stand beside what the windows read.
TEST(FuseBottlenecks, AResultThatIsLargerThanWhatItSavesIsLeft) {
  const Fused one = fused(with_constants({{"w1", {64, 1, 3, 3}}, {"w2", {80, 64, 1, 1}}}, "%x: f32[1,64,128,128]", R"(
    %a: f32[1,64,64,64] = aten::convolution(%x, %w1, none, [2, 2], [1, 1], [1, 1], false, [0, 0], 64)
    %b: f32[1,80,64,64] = aten::convolution(%a, %w2, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    return %b
  )"));
  EXPECT_EQ(count(one, "berth::conv"), 2) << one.text;
  EXPECT_TRUE(one.says("small: berth::inverted_residual"));
}

// The second window's image is the wider of the two that the pixels between two windows could be taken in with.
TEST(FuseBottlenecks, PixelsBetweenTwoWindowsAreTheSecondsExpansion) {
  const Fused one = fused(with_constants({{"w1", {64, 1, 3, 3}}, {"w2", {128, 64, 1, 1}}, {"w3", {128, 1, 3, 3}}},
                                         "%x: f32[1,64,64,64]", R"(
    %a: f32[1,64,64,64] = aten::convolution(%x, %w1, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 64)
    %b: f32[1,128,64,64] = aten::convolution(%a, %w2, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %c: f32[1,128,32,32] = aten::convolution(%b, %w3, none, [2, 2], [1, 1], [1, 1], false, [0, 0], 128)
    return %c
  )"));
  EXPECT_EQ(count(one, "berth::inverted_residual"), 1) << one.text;
  EXPECT_EQ(count(one, "berth::conv"), 1) << one.text;
  EXPECT_EQ(one.text.find("f32[1,128,64,64]"), std::string::npos) << one.text;
}

TEST(FuseBottlenecks, OpenSizesStayAsTheyAre) {
  const Fused one = fused_at_every_size({{"h", 63, 64}}, with_constants(kWeights, "%x: f32[1,12,h,64]", R"(
    %a: f32[1,64,h,64] = aten::convolution(%x, %w1, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %c: f32[1,64,h,64] = aten::convolution(%a, %w2, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 64)
    return %c
  )"));
  EXPECT_EQ(count(one, "berth::inverted_residual"), 0) << one.text;
  EXPECT_TRUE(one.says("open-sizes: berth::inverted_residual"));
}

}  // namespace
}  // namespace berth::fuse
