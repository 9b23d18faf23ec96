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
const std::string kBlockInput = "%x: f32[1,12,64,64]";

TEST(FuseBottlenecks, ABlockIsOneOperatorWithItsResidual) {
  const Fused one = fused(with_constants(kWeights, kBlockInput, kExpand + kNear + R"(
    %y: f32[1,12,64,64] = aten::add.Tensor(%x, %e, 1)
    return %y
  )"));
  EXPECT_EQ(one.count("berth::inverted_residual"), 1u) << one.text;
  EXPECT_EQ(one.count("berth::conv"), 0u) << one.text;
  EXPECT_TRUE(one.says("fused into berth::inverted_residual"));
}

TEST(FuseBottlenecks, WhatOthersReadStaysWhole) {
  const Fused wide = fused(with_constants(kWeights, kBlockInput, kExpand + kNear + "return %e, %b"));
  EXPECT_EQ(wide.count("berth::inverted_residual"), 1u) << wide.text;
  EXPECT_EQ(wide.count("berth::conv"), 1u) << wide.text;
  EXPECT_TRUE(wide.says("result-read-elsewhere: berth::inverted_residual"));
  const Fused seen = fused(with_constants(kWeights, kBlockInput, kExpand + kNear + "return %e, %d"));
  EXPECT_EQ(seen.count("berth::inverted_residual"), 1u) << seen.text;
  EXPECT_EQ(seen.count("berth::conv"), 1u) << seen.text;
  const Fused both = fused(with_constants(kWeights, kBlockInput, kExpand + kNear + "return %e, %d, %b"));
  EXPECT_EQ(both.count("berth::inverted_residual"), 0u) << both.text;
}

TEST(FuseBottlenecks, ASmallImageStaysWhole) {
  const Fused far = fused(with_constants(kWeights, kBlockInput, kExpand + kFar + "return %e"));
  EXPECT_EQ(far.count("berth::inverted_residual"), 1u) << far.text;
  const Fused small = fused(with_constants(kWeights, "%b: f32[1,64,32,32]", R"(
    %c: f32[1,64,32,32] = aten::convolution(%b, %w2, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 64)
    %e: f32[1,12,32,32] = aten::convolution(%c, %w3, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    return %e
  )"));
  EXPECT_EQ(small.count("berth::inverted_residual"), 0u) << small.text;
  EXPECT_TRUE(small.says("small: berth::inverted_residual"));
}

// The result would stand beside what the windows read.
TEST(FuseBottlenecks, AResultThatIsLargerThanWhatItSavesIsLeft) {
  const Fused one = fused(with_constants({{"w1", {64, 1, 3, 3}}, {"w2", {80, 64, 1, 1}}}, "%x: f32[1,64,128,128]", R"(
    %a: f32[1,64,64,64] = aten::convolution(%x, %w1, none, [2, 2], [1, 1], [1, 1], false, [0, 0], 64)
    %b: f32[1,80,64,64] = aten::convolution(%a, %w2, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    return %b
  )"));
  EXPECT_EQ(one.count("berth::conv"), 2u) << one.text;
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
  EXPECT_EQ(one.count("berth::inverted_residual"), 1u) << one.text;
  EXPECT_EQ(one.count("berth::conv"), 1u) << one.text;
  EXPECT_EQ(one.text.find("f32[1,128,64,64]"), std::string::npos) << one.text;
}

// Images of 64 channels, 64x64, from convolutions that are not pointwise, into windows.
TEST(FuseBottlenecks, OnlyPixelsOfAllChannelsExpand) {
  struct Case {
    std::string what, input;
    std::vector<int> weight;
    std::string lists;
  };
  const Case cases[] = {
      {"two groups", "f32[1,12,64,64]", {64, 6, 1, 1}, "[1, 1], [0, 0], [1, 1], false, [0, 0], 2"},
      {"every second pixel", "f32[1,12,127,128]", {64, 12, 1, 1}, "[2, 2], [0, 0], [1, 1], false, [0, 0], 1"},
      {"padding", "f32[1,12,62,62]", {64, 12, 1, 1}, "[1, 1], [1, 1], [1, 1], false, [0, 0], 1"},
      {"both", "f32[1,12,126,125]", {64, 12, 1, 1}, "[2, 2], [1, 1], [1, 1], false, [0, 0], 1"},
      {"windows", "f32[1,12,64,64]", {64, 12, 3, 3}, "[1, 1], [1, 1], [1, 1], false, [0, 0], 1"},
      {"lines", "f32[1,12,64,66]", {64, 12, 1, 3}, "[1, 1], [0, 0], [1, 1], false, [0, 0], 1"},
      {"few channels", "f32[1,3,64,64]", {64, 3, 1, 1}, "[1, 1], [0, 0], [1, 1], false, [0, 0], 1"},
      {"a transposed one", "f32[1,12,64,64]", {12, 64, 1, 1}, "[1, 1], [0, 0], [1, 1], true, [0, 0], 1"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    const Fused fused_one = fused(with_constants({{"w1", one.weight}, {"w2", {64, 1, 3, 3}}}, "%x: " + one.input, R"(
      %a: f32[1,64,64,64] = aten::convolution(%x, %w1, none, )" + one.lists + R"()
      %b: f32[1,64,64,64] = aten::relu(%a)
      %c: f32[1,64,64,64] = aten::convolution(%b, %w2, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 64)
      return %c
    )"));
    EXPECT_EQ(fused_one.count("berth::inverted_residual"), 0u) << fused_one.text;
  }
}

// What follows depthwise windows, and what does not.
TEST(FuseBottlenecks, OnlyPixelsOfAllChannelsProject) {
  struct Case {
    std::string what;
    std::vector<int> weight;
    std::string lists, result;
    size_t blocks;
  };
  const Case cases[] = {
      {"pixels", {12, 64, 1, 1}, "[1, 1], [0, 0], [1, 1], false, [0, 0], 1", "[1,12,64,64]", 1},
      {"two groups", {12, 32, 1, 1}, "[1, 1], [0, 0], [1, 1], false, [0, 0], 2", "[1,12,64,64]", 0},
      {"every second pixel", {12, 64, 1, 1}, "[2, 2], [0, 0], [1, 1], false, [0, 0], 1", "[1,12,32,32]", 0},
      {"padding", {12, 64, 1, 1}, "[1, 1], [1, 1], [1, 1], false, [0, 0], 1", "[1,12,66,66]", 0},
      {"windows", {12, 64, 3, 3}, "[1, 1], [1, 1], [1, 1], false, [0, 0], 1", "[1,12,64,64]", 0},
      {"few channels", {8, 64, 1, 1}, "[1, 1], [0, 0], [1, 1], false, [0, 0], 1", "[1,8,64,64]", 0},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    const Fused f = fused(with_constants({{"w2", {64, 1, 3, 3}}, {"w3", one.weight}}, "%x: f32[1,64,64,64]",
                                         filled(R"(
      %c: f32[1,64,64,64] = aten::convolution(%x, %w2, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 64)
      %d: f32[1,64,64,64] = aten::hardtanh(%c, -0.5, 6.0)
      %e: f32$r = aten::convolution(%d, %w3, none, $lists)
      return %e
    )",
                                                {{"r", one.result}, {"lists", one.lists}})));
    EXPECT_EQ(f.count("berth::inverted_residual"), one.blocks) << f.text;
  }
}

TEST(FuseBottlenecks, OnlyWindowsOfOneResultAChannelAreInTheMiddle) {
  const auto middle = [](const std::string& weight, const std::string& channels, const std::string& rest) {
    const int results = std::stoi(channels);
    const Fused f =
        fused(with_constants({{"w2", weight == "all" ? std::vector<int>{64, 64, 3, 3}
                                                     : std::vector<int>{results, weight == "two" ? 2 : 1, 3, 3}},
                              {"w3", {12, results, 1, 1}}},
                             "%x: f32[1,64,64,64], %z: f32[1,64,64,64]",
                             filled(R"(
      %c: f32[1,$n,64,64] = aten::convolution(%x, %w2, none, [1, 1], [1, 1], [1, 1], false, [0, 0], $rest
      %e: f32[1,12,64,64] = aten::convolution(%d, %w3, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
      return %e
    )",
                                    {{"rest", rest}, {"n", channels}})));
    return f.count("berth::inverted_residual");
  };
  const std::string relu = "%d: f32[1,64,64,64] = aten::relu(%c)";
  EXPECT_EQ(middle("one", "64", "64)\n" + relu), 1u);
  EXPECT_EQ(middle("one", "128", "64)\n%d: f32[1,128,64,64] = aten::relu(%c)"), 0u);
  EXPECT_EQ(middle("two", "64", "32)\n" + relu), 0u);
  EXPECT_EQ(middle("all", "64", "1)\n" + relu), 0u);
  // A sum behind the windows is not an argument of the block.
  EXPECT_EQ(middle("one", "64", "64)\n%d: f32[1,64,64,64] = aten::add.Tensor(%c, %z, 1)"), 0u);
}

// A sum behind the pixels that expand is none of its arguments either.
TEST(FuseBottlenecks, AnExpansionWithAResidualStays) {
  const Fused one = fused(with_constants(kWeights, kBlockInput + ", %z: f32[1,64,64,64]", R"(
    %p: f32[1,64,64,64] = aten::convolution(%x, %w1, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %a: f32[1,64,64,64] = aten::add.Tensor(%p, %z, 1)
    %b: f32[1,64,64,64] = aten::relu(%a)
    %c: f32[1,64,64,64] = aten::convolution(%b, %w2, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 64)
    return %c
  )"));
  EXPECT_EQ(one.count("berth::inverted_residual"), 0u) << one.text;
  EXPECT_EQ(one.count("berth::conv"), 2u) << one.text;
}

// Zeros of padding are those of what was expanded, whatever the activation makes of 0.
TEST(FuseBottlenecks, PaddingIsZeroBehindTheActivation) {
  for (const std::string activation :
       {"aten::sigmoid(%a)", "aten::clamp(%a, 0.5, none)", "aten::clamp(%a, none, -0.25)"}) {
    const Fused one = fused(with_constants(kWeights, kBlockInput, R"(
      %a: f32[1,64,64,64] = aten::convolution(%x, %w1, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
      %b: f32[1,64,64,64] = )" + activation + R"(
      %c: f32[1,64,64,64] = aten::convolution(%b, %w2, %b2, [1, 1], [1, 1], [1, 1], false, [0, 0], 64)
      return %c
    )"));
    EXPECT_EQ(one.count("berth::inverted_residual"), 1u) << one.text;
  }
}

TEST(FuseBottlenecks, OfOpenSizesTheLargestDecides) {
  const Fused one = fused_at_every_size({{"h", 63, 64}}, with_constants(kWeights, "%x: f32[1,12,h,64]", R"(
    %a: f32[1,64,h,64] = aten::convolution(%x, %w1, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %c: f32[1,64,h,64] = aten::convolution(%a, %w2, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 64)
    return %c
  )"));
  EXPECT_EQ(one.count("berth::inverted_residual"), 1u) << one.text;
  const Fused small = fused_at_every_size({{"h", 62, 63}}, with_constants(kWeights, "%x: f32[1,12,h,64]", R"(
    %a: f32[1,64,h,64] = aten::convolution(%x, %w1, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %c: f32[1,64,h,64] = aten::convolution(%a, %w2, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 64)
    return %c
  )"));
  EXPECT_TRUE(small.says("small: berth::inverted_residual"));
}

}  // namespace
}  // namespace berth::fuse
