// What stands before the permutations of convolutions' results. The fears: an operator that looks at another element's
// place; a tensor that is permuted in another way, or not; padding of another dimension; a permutation that something
// else reads, done twice.
#include "compiler/fuse/move_permutes.h"

#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

const Constants kFrameWeights = {
    {"w", {4, 3, 3, 3}}, {"b", {4}}, {"v", {4, 4, 3, 3}}, {"u", {3, 4, 1, 1}}, {"one", {1, 1, 1, 1, 1}}};

// Frames of a video, [n, c, t, h, w], out of a convolution over each.
const std::string kFrames = R"(
    %c: f32[5,4,6,6] = aten::convolution(%x, %w, %b, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
    %f: f32[1,5,4,6,6] = aten::view_copy(%c, [1, 5, 4, 6, 6])
    %p: f32[1,4,5,6,6] = aten::permute_copy(%f, [0, 2, 1, 3, 4])
)";
// And back to them, through another.
const std::string kNext = R"(
    %q: f32[1,5,4,6,6] = aten::permute_copy(%r, [0, 2, 1, 3, 4])
    %i: f32[5,4,6,6] = aten::view_copy(%q, [5, 4, 6, 6])
    %d: f32[5,4,6,6] = aten::convolution(%i, %v, %b, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
)";

Fused frames(const std::string& body) { return fused(with_constants(kFrameWeights, "%x: f32[5,3,6,6]", body)); }

TEST(MovePermutes, AnActivationBetweenConvolutionsOfFramesIsTheFirsts) {
  const Fused one = frames(kFrames + "%r: f32[1,4,5,6,6] = aten::relu(%p)\n" + kNext + "return %d\n");
  EXPECT_EQ(one.operators(), "dim_order_ops::_clone_dim_order berth::conv berth::conv dim_order_ops::_clone_dim_order")
      << one.text;
}

TEST(MovePermutes, ANumberForAllElementsNeedsNoPlace) {
  const Fused one = frames(kFrames + "%r: f32[1,4,5,6,6] = aten::mul.Tensor(%p, %one)\n" + kNext + "return %d\n");
  EXPECT_EQ(one.count("aten::permute_copy"), 0u) << one.text;
}

TEST(MovePermutes, SumsOfFramesStandBeforeThePermutation) {
  const Fused one = frames(kFrames + "%r: f32[1,4,5,6,6] = aten::relu(%p)\n" + kNext + R"(
    %e: f32[1,5,4,6,6] = aten::view_copy(%d, [1, 5, 4, 6, 6])
    %g: f32[1,4,5,6,6] = aten::permute_copy(%e, [0, 2, 1, 3, 4])
    %s: f32[1,4,5,6,6] = aten::add.Tensor(%g, %r, 1)
    return %s
)");
  EXPECT_EQ(one.count("aten::permute_copy"), 1u) << one.text;
  EXPECT_EQ(one.count("aten::add.Tensor"), 0u) << one.text;
}

// As of convolutions over time: a frame before and one behind.
TEST(MovePermutes, PaddingOfFramesIsThatOfImages) {
  const Fused one = frames(kFrames + R"(
    %r: f32[1,4,7,6,6] = aten::constant_pad_nd(%p, [0, 0, 0, 0, 1, 1], 0.0)
    %q: f32[1,7,4,6,6] = aten::permute_copy(%r, [0, 2, 1, 3, 4])
    %k: f32[1,5,4,6,6] = aten::slice_copy.Tensor(%q, 1, 0, 5, 1)
    %l: f32[5,4,6,6] = aten::view_copy(%k, [5, 4, 6, 6])
    %m: f32[5,3,6,6] = aten::convolution(%l, %u, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %n: f32[1,5,4,6,6] = aten::slice_copy.Tensor(%q, -4, 2, 7, 1)
    %o: f32[5,4,6,6] = aten::view_copy(%n, [5, 4, 6, 6])
    %s: f32[5,3,6,6] = aten::convolution(%o, %u, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %t: f32[5,3,6,6] = aten::add.Tensor(%m, %s, 1)
    return %t
)");
  // Those around the padding and the slices are views of an image whose channels are innermost.
  EXPECT_EQ(one.operators(),
            "dim_order_ops::_clone_dim_order berth::conv aten::permute_copy aten::constant_pad_nd aten::permute_copy "
            "aten::permute_copy aten::slice_copy.Tensor aten::permute_copy berth::conv aten::permute_copy "
            "aten::slice_copy.Tensor aten::permute_copy berth::conv dim_order_ops::_clone_dim_order")
      << one.text;
}

TEST(MovePermutes, PaddingOfEachDimensionStaysThatDimensions) {
  for (const auto& [pad, type, back] :
       {std::tuple<std::string, std::string, std::string>{"[1, 0]", "f32[1,4,5,6,7]", "f32[1,5,4,6,7]"},
        {"[0, 0, 2, 1]", "f32[1,4,5,9,6]", "f32[1,5,4,9,6]"},
        {"[0, 0, 0, 0, 0, 0, 1, 2]", "f32[1,7,5,6,6]", "f32[1,5,7,6,6]"},
        {"[0, 0, 0, 0, 0, 0, 0, 0, 1, 0]", "f32[2,4,5,6,6]", "f32[2,5,4,6,6]"}}) {
    frames(kFrames + "%r: " + type + " = aten::constant_pad_nd(%p, " + pad + ", 2.0)\n%q: " + back +
           " = aten::permute_copy(%r, [0, 2, 1, 3, 4])\nreturn %q\n");
  }
}

// Of volumes: norms between convolutions read the frames as they lie.
TEST(MovePermutes, GroupNormsOfFramesAreThoseOfAnImage) {
  for (const std::string group : {"1", "2", "4"}) {
    const Fused one = frames(kFrames + "%a: f32[1,4,5,6,6], %b1: f32[1," + group + "], %b2: f32[1," + group +
                             "] = aten::native_group_norm(%p, %b, %b, 1, 4, 180, " + group + R"(, 0.01)
    %r: f32[1,4,5,6,6] = aten::relu(%a)
)" + kNext + "return %d\n");
    EXPECT_EQ(one.count("dim_order_ops::_clone_dim_order"), 2u) << one.text;
    EXPECT_NE(one.text.find("f32[1,4,30,6]{0,2,3,1}, "), std::string::npos) << one.text;
  }
}

TEST(MovePermutes, GroupNormsOfSeveralVolumesAreOfEach) {
  const Fused one = frames(R"(
    %c: f32[5,4,6,6] = aten::convolution(%x, %w, %b, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
    %f: f32[5,1,4,6,6] = aten::view_copy(%c, [5, 1, 4, 6, 6])
    %p: f32[5,4,1,6,6] = aten::permute_copy(%f, [0, 2, 1, 3, 4])
    %a: f32[5,4,1,6,6], %m: f32[5,2], %s: f32[5,2] = aten::native_group_norm(%p, none, none, 5, 4, 36, 2, 0.01)
    return %a
)");
  EXPECT_NE(one.text.find("f32[5,4,6,6]{0,2,3,1}, "), std::string::npos) << one.text;
}

TEST(MovePermutes, MomentsThatAreReadKeepTheNormWhereItIs) {
  const Fused one = frames(kFrames + R"(
    %a: f32[1,4,5,6,6], %m: f32[1,2], %s: f32[1,2] = aten::native_group_norm(%p, none, none, 1, 4, 180, 2, 0.01)
    return %a, %m
)");
  EXPECT_NE(one.text.find("%a: f32[1,4,5,6,6], "), std::string::npos) << one.text;
}

TEST(MovePermutes, ConcatenationsOfFramesStandBeforeThePermutation) {
  for (const auto& [dim, joined, back] :
       {std::tuple<std::string, std::string, std::string>{"1", "f32[1,8,5,6,6]", "f32[1,5,8,6,6]"},
        {"-3", "f32[1,4,10,6,6]", "f32[1,10,4,6,6]"},
        {"4", "f32[1,4,5,6,12]", "f32[1,5,4,6,12]"}}) {
    const Fused one = frames(kFrames + R"(
    %r: f32[1,4,5,6,6] = aten::relu(%p)
)" + kNext + R"(
    %e: f32[1,5,4,6,6] = aten::view_copy(%d, [1, 5, 4, 6, 6])
    %g: f32[1,4,5,6,6] = aten::permute_copy(%e, [0, 2, 1, 3, 4])
    %j: )" + joined + " = aten::cat([%r, %g], " +
                             dim + ")\n%k: " + back + " = aten::permute_copy(%j, [0, 2, 1, 3, 4])\nreturn %k\n");
    EXPECT_EQ(one.count("aten::permute_copy"), 0u) << one.text;
  }
}

// What reads them as one tensor of several images has no order for their channels.
TEST(MovePermutes, StacksOfImagesAreJoinedWhereTheyWere) {
  const Fused one = frames(R"(
    %c: f32[5,4,6,6] = aten::convolution(%x, %w, %b, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
    %r: f32[5,4,6,6] = aten::relu(%c)
    %f: f32[1,5,4,6,6] = aten::view_copy(%c, [1, 5, 4, 6, 6])
    %g: f32[1,5,4,6,6] = aten::view_copy(%r, [1, 5, 4, 6, 6])
    %j: f32[1,10,4,6,6] = aten::cat([%f, %g], 1)
    return %j
)");
  EXPECT_NE(one.text.find("f32[1,10,4,6,6] = aten::cat("), std::string::npos) << one.text;
}

TEST(MovePermutes, OthersStay) {
  // Each row by itself; another order; read elsewhere; not of a convolution; a number for each column.
  for (const char* body : {"%r: f32[1,4,5,6,6] = aten::_softmax(%p, 2, false)\n",
                           "%o: f32[1,4,5,6,6] = aten::permute_copy(%f, [0, 2, 1, 4, 3])\n"
                           "%r: f32[1,4,5,6,6] = aten::mul.Tensor(%p, %o)\n",
                           "%z: f32[1,4,5,6,6] = aten::relu(%p)\n%r: f32[1,4,5,6,6] = aten::sub.Tensor(%z, %p, 1)\n",
                           "%y: f32[1,5,3,6,6] = aten::view_copy(%x, [1, 5, 3, 6, 6])\n"
                           "%k: f32[1,3,5,6,6] = aten::permute_copy(%y, [0, 2, 1, 3, 4])\n"
                           "%z: f32[1,3,5,6,6] = aten::tanh(%k)\n"
                           "%m: f32[1,1,5,6,6] = aten::slice_copy.Tensor(%z, 1, 0, 1, 1)\n"
                           "%r: f32[1,4,5,6,6] = aten::mul.Tensor(%p, %m)\n"}) {
    EXPECT_NE(frames(kFrames + body + "return %r\n").count("aten::permute_copy"), 0u) << body;
  }
}

TEST(MovePermutes, PaddingOfWhatIsViewedOrReadInAnotherWayStays) {
  // Lines of pixels; and what nothing permutes again, which would be permuted with its padding.
  const Fused lines = frames(kFrames + R"(
    %l: f32[5,4,36] = aten::view_copy(%c, [5, 4, 36])
    %r: f32[5,4,38] = aten::constant_pad_nd(%l, [1, 1], 0.0)
    return %r
)");
  EXPECT_NE(lines.text.find("f32[5,4,38] = aten::constant_pad_nd"), std::string::npos) << lines.text;
  const Fused last =
      frames(kFrames + "%r: f32[1,4,7,6,6] = aten::constant_pad_nd(%p, [0, 0, 0, 0, 1, 1], 0.0)\n" + "return %r\n");
  EXPECT_NE(last.text.find("f32[1,4,7,6,6] = aten::constant_pad_nd"), std::string::npos) << last.text;
}

TEST(MovePermutes, APermutationThatIsReadElsewhereIsDoneOnce) {
  const Fused one = frames(kFrames + "%r: f32[1,4,5,6,6] = aten::relu(%p)\nreturn %r, %p\n");
  EXPECT_EQ(one.count("aten::permute_copy"), 1u) << one.text;
}

TEST(MovePermutes, WhatNoConvolutionGivesStays) {
  const Fused one = fused(R"(
    method forward(%x: f32[2,3,4]) {
      %p: f32[4,3,2] = aten::permute_copy(%x, [2, 1, 0])
      %r: f32[4,3,2] = aten::relu(%p)
      return %r
    })");
  EXPECT_EQ(one.operators(), "aten::permute_copy aten::relu") << one.text;
}

// With one channel, its scale is one number as well.
TEST(MovePermutes, QuantisingByChannelsStaysWithItsDimension) {
  const Fused one = fused(with_constants({{"w", {1, 3, 3, 3}}}, "%x: f32[5,3,6,6], %s: f32[1], %z: i64[1]", R"(
    %c: f32[5,1,6,6] = aten::convolution(%x, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
    %f: f32[1,5,1,6,6] = aten::view_copy(%c, [1, 5, 1, 6, 6])
    %p: f32[6,1,5,6,1] = aten::permute_copy(%f, [3, 0, 1, 4, 2])
    %q: i8[6,1,5,6,1] = quantized_decomposed::quantize_per_channel(%p, %s, %z, 1, -128, 127, i8)
    return %q
)"));
  EXPECT_EQ(one.text.find("i8[1,5"), std::string::npos) << one.text;
}

}  // namespace
}  // namespace berth::fuse
