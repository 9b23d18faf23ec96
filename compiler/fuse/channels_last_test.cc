// Images whose channels are innermost. The fears: copies between operators that need none, a caller who gets another
// order than the method promises.
#include "compiler/fuse/channels_last.h"

#include "base/text_testing.h"
#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

// As where a norm or a product over the channels stands between convolutions.
TEST(ChannelsLast, PermutationsBetweenPixelsAndPlanesAreViewsWhenChannelsLast) {
  const Fused one = fused(with_constants(kConvWeights, "%x: f32[1,3,6,6]", kConv + R"(
    %p: f32[1,6,6,4] = aten::permute_copy(%c, [0, 2, 3, 1])
    %t: f32[1,6,6,4] = aten::_softmax(%p, 3, false)
    %q: f32[1,4,6,6] = aten::permute_copy(%t, [0, 3, 1, 2])
    %s: f32[1,4,6,6] = aten::mul.Tensor(%q, %c)
    return %s
  )"));
  EXPECT_EQ(one.operators(),
            "dim_order_ops::_clone_dim_order berth::conv aten::permute_copy aten::_softmax aten::permute_copy "
            "aten::mul.Tensor dim_order_ops::_clone_dim_order")
      << one.text;
}

TEST(ChannelsLast, ImagesStayChannelsLastThroughLayoutAgnosticOperators) {
  const Fused one = fused(with_constants({{"w", {4, 4, 1, 1}}}, "%x: f32[1,4,6,6]", R"(
    %c: f32[1,4,6,6] = aten::convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %p: f32[1,4,3,3], %i: i64[1,4,3,3] = aten::max_pool2d_with_indices(%c, [2, 2], [2, 2], [0, 0], [1, 1], false)
    %m: f32[1,4,1,1] = aten::mean.dim(%p, [2, 3], true, none)
    %g: f32[1,4,3,3] = aten::mul.Tensor(%p, %m)
    %j: f32[1,8,3,3] = aten::cat([%g, %p], 1)
    %v: f32[1,2,4,3,3] = aten::view_copy(%j, [1, 2, 4, 3, 3])
    %t: f32[1,4,2,3,3] = aten::permute_copy(%v, [0, 2, 1, 3, 4])
    %u: f32[1,8,3,3] = aten::view_copy(%t, [1, 8, 3, 3])
    %a: f32[1,4,3,3], %b: f32[1,4,3,3] = aten::split_with_sizes_copy(%u, [4, 4], 1)
    %d: f32[1,4,3,3] = aten::convolution(%a, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %e: f32[1,4,3,3] = aten::add.Tensor(%d, %b, 1)
    return %e
  )"));
  EXPECT_EQ(one.operators(),
            "dim_order_ops::_clone_dim_order berth::conv aten::max_pool2d_with_indices aten::mean.dim aten::mul.Tensor "
            "berth::shuffle berth::conv "
            "dim_order_ops::_clone_dim_order")
      << one.text;
}

// Each dimension by other numbers, so that one that is taken for another is seen.
TEST(ChannelsLast, PaddingIsThatOfRowsOfChannels) {
  const std::pair<std::string, std::string> cases[] = {{"[1, 2]", "f32[2,4,6,9]"},
                                                       {"[1, 2, 3, 0]", "f32[2,4,9,9]"},
                                                       {"[0, 1, 2, 0, 1, 3]", "f32[2,8,8,7]"},
                                                       {"[1, 0, 0, 2, 0, 1, 2, 1]", "f32[5,5,8,7]"},
                                                       {"[-1, 2]", "f32[2,4,6,7]"}};
  for (const auto& [pad, type] : cases) {
    const Fused one = fused(with_constants(kConvWeights, "%x: f32[2,3,6,6]",
                                           R"(
    %c: f32[2,4,6,6] = aten::convolution(%x, %w, %b, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
    %p: )" + type + " = aten::constant_pad_nd(%c, " +
                                               pad + ", 0.5)\n%s: " + type + R"( = aten::mul.Tensor(%p, %p)
    return %s
  )"));
    EXPECT_EQ(one.count("dim_order_ops::_clone_dim_order"), 2u) << one.text;
    EXPECT_EQ(one.count("aten::permute_copy"), 2u) << one.text;
  }
}

// A convolution of eight frames of 4 x 6 places, `moves` from %c to %i, and one of the images there.
Fused between_convolutions(const std::string& moves, const std::string& image) {
  return fused(with_constants({{"w", {5, 3, 3, 3}}, {"v", {5, 5, 3, 1}}}, "%x: f32[8,3,4,6]",
                              filled(R"(
    %c: f32[8,5,4,6] = aten::convolution(%x, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
    $moves
    %y: f32[$image] = aten::convolution(%i, %v, none, [1, 1], [1, 0], [1, 1], false, [0, 0], 1)
    return %y
  )",
                                     {{"moves", moves}, {"image", image}})));
}

// As a kernel along the frames of a video reads what one of their places gives.
TEST(ChannelsLast, AnImageWithARowAFrameHasTheBytesOfTheFrames) {
  const auto copies = [](const Fused& one) { return one.count("dim_order_ops::_clone_dim_order"); };
  const Fused video = between_convolutions(R"(
    %f: f32[1,8,5,4,6] = aten::view_copy(%c, [1, 8, 5, 4, 6])
    %p: f32[1,5,8,4,6] = aten::permute_copy(%f, [0, 2, 1, 3, 4])
    %i: f32[1,5,8,24] = aten::view_copy(%p, [1, 5, 8, 24]))",
                                           "1,5,8,24");
  EXPECT_EQ(copies(video), 2u) << video.text;
  const Fused two = between_convolutions(R"(
    %f: f32[2,4,5,4,6] = aten::view_copy(%c, [2, 4, 5, 4, 6])
    %p: f32[2,5,4,4,6] = aten::permute_copy(%f, [0, 2, 1, 3, 4])
    %i: f32[2,5,4,24] = aten::view_copy(%p, [2, 5, 4, 24]))",
                                         "2,5,4,24");
  EXPECT_EQ(copies(two), 2u) << two.text;
  // To an image and back to frames, of which two kernels read each.
  const Fused back = between_convolutions(R"(
    %f: f32[1,8,5,4,6] = aten::view_copy(%c, [1, 8, 5, 4, 6])
    %p: f32[1,5,8,4,6] = aten::permute_copy(%f, [0, 2, 1, 3, 4])
    %j: f32[1,5,8,24] = aten::view_copy(%p, [1, 5, 8, 24])
    %k: f32[1,5,8,24] = aten::convolution(%j, %v, none, [1, 1], [1, 0], [1, 1], false, [0, 0], 1)
    %l: f32[1,5,8,24] = aten::convolution(%j, %v, none, [1, 1], [2, 0], [2, 1], false, [0, 0], 1)
    %m: f32[1,5,8,24] = aten::add.Tensor(%k, %l, 1)
    %g: f32[1,5,8,4,6] = aten::view_copy(%m, [1, 5, 8, 4, 6])
    %q: f32[1,8,5,4,6] = aten::permute_copy(%g, [0, 2, 1, 3, 4])
    %i: f32[8,5,4,6] = aten::view_copy(%q, [8, 5, 4, 6]))",
                                          "8,5,4,6");
  EXPECT_EQ(copies(back), 2u) << back.text;
}

// The fear: places in another order, or channels that are places, taken for the same bytes.
TEST(ChannelsLast, FramesInAnotherOrderAreCopied) {
  const std::pair<std::string, std::string> moves[] = {
      // Rows before frames, columns before rows, frames among the channels, channels before frames, or behind places.
      {R"(%f: f32[1,8,5,4,6] = aten::view_copy(%c, [1, 8, 5, 4, 6])
    %p: f32[1,5,4,8,6] = aten::permute_copy(%f, [0, 2, 3, 1, 4])
    %i: f32[1,5,4,48] = aten::view_copy(%p, [1, 5, 4, 48]))",
       "1,5,4,48"},
      {R"(%f: f32[1,8,5,4,6] = aten::view_copy(%c, [1, 8, 5, 4, 6])
    %p: f32[1,5,8,6,4] = aten::permute_copy(%f, [0, 2, 1, 4, 3])
    %i: f32[1,5,8,24] = aten::view_copy(%p, [1, 5, 8, 24]))",
       "1,5,8,24"},
      {"%i: f32[1,5,8,24] = aten::view_copy(%c, [1, 5, 8, 24])", "1,5,8,24"},
      {R"(%f: f32[5,8,4,6] = aten::view_copy(%c, [5, 8, 4, 6])
    %i: f32[8,5,4,6] = aten::permute_copy(%f, [1, 0, 2, 3]))",
       "8,5,4,6"},
      {R"(%f: f32[8,24,5] = aten::view_copy(%c, [8, 24, 5])
    %p: f32[8,5,24] = aten::permute_copy(%f, [0, 2, 1])
    %i: f32[8,5,4,6] = aten::view_copy(%p, [8, 5, 4, 6]))",
       "8,5,4,6"}};
  for (const auto& [move, image] : moves) {
    const Fused one = between_convolutions(move, image);
    EXPECT_GT(one.count("dim_order_ops::_clone_dim_order"), 2u) << one.text;
  }
}

// The fear: what computes between two views taken for one, where there are no dimensions to tell.
TEST(ChannelsLast, WhatComputesBetweenViewsStays) {
  const Fused one = fused(with_constants({{"w", {1, 3, 2, 2}}, {"v", {4, 1, 1, 1}}}, "%x: f32[1,3,2,2]", R"(
    %c: f32[1,1,1,1] = aten::convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %s: f32[] = aten::view_copy(%c, [])
    %e: f32[] = aten::exp(%s)
    %i: f32[1,1,1,1] = aten::view_copy(%e, [1, 1, 1, 1])
    %y: f32[1,4,1,1] = aten::convolution(%i, %v, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    return %y
  )"));
  EXPECT_NE(one.operators().find("exp"), std::string::npos) << one.text;
}

TEST(ChannelsLast, AShuffleOfOneImageIsAPermutationOfTheInnermost) {
  const Fused one = fused(with_constants({{"w", {4, 4, 1, 1}}}, "%x: f32[1,4,6,6]", R"(
    %c: f32[1,4,6,6] = aten::convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %v: f32[1,2,2,6,6] = aten::view_copy(%c, [1, 2, 2, 6, 6])
    %t: f32[1,2,2,6,6] = aten::permute_copy(%v, [0, 2, 1, 3, 4])
    %u: f32[1,4,6,6] = aten::view_copy(%t, [1, 4, 6, 6])
    return %u
  )"));
  EXPECT_EQ(one.operators(),
            "dim_order_ops::_clone_dim_order berth::conv aten::permute_copy aten::permute_copy aten::permute_copy "
            "dim_order_ops::_clone_dim_order")
      << one.text;
}

TEST(ChannelsLast, TokensOfAnImageShareItsLayout) {
  const Fused one = fused(with_constants({{"w", {4, 3, 2, 2}}}, "%x: f32[1,3,6,6]", R"(
    %c: f32[1,4,3,3] = aten::convolution(%x, %w, none, [2, 2], [0, 0], [1, 1], false, [0, 0], 1)
    %v: f32[1,4,9] = aten::view_copy(%c, [1, 4, 9])
    %t: f32[1,9,4] = aten::permute_copy(%v, [0, 2, 1])
    return %t
  )"));
  EXPECT_EQ(one.operators(), "dim_order_ops::_clone_dim_order berth::conv aten::permute_copy") << one.text;
}

TEST(ChannelsLast, AnImageOfTokensSharesTheirLayout) {
  const Fused one = fused(with_constants({{"w", {4, 3, 2, 2}}}, "%x: f32[2,9,3]", R"(
    %t: f32[2,3,9] = aten::permute_copy(%x, [0, 2, 1])
    %v: f32[2,3,3,3] = aten::view_copy(%t, [2, 3, 3, 3])
    %c: f32[2,4,2,2] = aten::convolution(%v, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %k: f32[2,4,4] = aten::view_copy(%c, [2, 4, 4])
    %y: f32[2,4,4] = aten::permute_copy(%k, [0, 2, 1])
    return %y
  )"));
  EXPECT_EQ(one.operators(), "aten::permute_copy berth::conv aten::permute_copy") << one.text;
}

// Images of tokens at several scales, resampled and joined before a convolution reads them.
TEST(ChannelsLast, ImagesOfTokensThatAreJoinedShareTheirLayout) {
  const auto joined = [](const std::string& resampled) {
    return fused(with_constants({{"w", {4, 5, 1, 1}}}, "%x: f32[1,4,3], %y: f32[1,16,2]",
                                filled(R"(
      %t: f32[1,3,4] = aten::permute_copy(%x, [0, 2, 1])
      %v: f32[1,3,2,2] = aten::view_copy(%t, [1, 3, 2, 2])
      $resampled
      %s: f32[1,2,16] = aten::permute_copy(%y, [0, 2, 1])
      %z: f32[1,2,4,4] = aten::view_copy(%s, [1, 2, 4, 4])
      %j: f32[1,5,4,4] = aten::cat([%u, %z], 1)
      %c: f32[1,4,4,4] = aten::convolution(%j, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
      return %c
    )",
                                       {{"resampled", resampled}})));
  };
  const Fused one = joined("%u: f32[1,3,4,4] = aten::upsample_nearest2d.vec(%v, [4, 4], none)");
  EXPECT_EQ(one.count("dim_order_ops::_clone_dim_order"), 1u) << "that of the result:\n" << one.text;
  EXPECT_NE(one.text.find("{0,2,3,1} = aten::upsample_nearest2d"), std::string::npos) << one.text;
  // Along rows of one order alone.
  const Fused rows = joined(R"(%r: f32[1,3,2,2] = aten::cumsum(%v, 3)
      %u: f32[1,3,4,4] = aten::upsample_nearest2d.vec(%r, [4, 4], none))");
  EXPECT_EQ(rows.count("dim_order_ops::_clone_dim_order"), 2u) << "none before the rows are summed:\n" << rows.text;
}

TEST(ChannelsLast, OperatorsOfOneOrderGetARowMajorCopy) {
  const Fused one = fused(with_constants({{"w", {4, 3, 1, 1}}}, "%x: f32[1,3,4,4]", R"(
    %c: f32[1,4,4,4] = aten::convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %y: f32[1,4,4,4] = aten::cumsum(%c, 3)
    return %y
  )"));
  EXPECT_TRUE(one.says("order: ")) << one.text;
}

TEST(ChannelsLast, ResultsInAThirdOrderKeepIt) {
  const Fused one = fused(with_constants({{"w", {4, 4, 1, 1}}}, "%x: f32[1,4,6,6]", R"(
    %c: f32[1,4,6,6] = aten::convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %o: f32[1,4,6,6]{1,3,0,2} = dim_order_ops::_clone_dim_order(%c, false, [1, 3, 0, 2])
    return %o
  )"));
  EXPECT_NE(one.text.find("%o: f32[1,4,6,6]{1,3,0,2} = dim_order_ops::_clone_dim_order("), std::string::npos)
      << one.text;
  EXPECT_NE(one.text.find("yield %o\n"), std::string::npos) << one.text;
}

TEST(ChannelsLast, ResultsOfARegionKeepTheCallersOrder) {
  const Fused one = fused(with_constants({{"w", {4, 3, 1, 1}}}, "%x: f32[1,3,4,4]", R"(
    %c: f32[1,4,4,4] = aten::convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %y: f32[1,4,4,4]{0,2,3,1} = dim_order_ops::_clone_dim_order(%c, false, [0, 2, 3, 1])
    return %c, %y
  )"));
  const auto has = [&](const std::string& text) { return one.text.find(text) != std::string::npos; };
  EXPECT_TRUE(has(": f32[1,4,4,4]{0,2,3,1} = berth::delegate(")) << one.text;
  const size_t yield = one.text.find("yield %");
  ASSERT_NE(yield, std::string::npos);
  const size_t second = one.text.find('%', yield + 7) + 1;
  const std::string last = one.text.substr(second, one.text.find('\n', second) - second);
  EXPECT_TRUE(has("%" + last + ": f32[1,4,4,4]{0,2,3,1} = ")) << one.text;
}

}  // namespace
}  // namespace berth::fuse
