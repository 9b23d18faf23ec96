// Convolutions over joined channels.
#include "compiler/fuse/split_concatenations.h"

#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

TEST(SplitConcatenations, AConvolutionOverJoinedChannelsIsASumOverTheParts) {
  const Fused one = fused(
      with_constants({{"w", {4, 5, 3, 3}}, {"b", {4}}}, "%x: f32[1,2,6,6], %z: f32[1,3,6,6], %r: f32[1,4,6,6]", R"(
    %j: f32[1,5,6,6] = aten::cat([%x, %z], 1)
    %c: f32[1,4,6,6] = aten::convolution(%j, %w, %b, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
    %s: f32[1,4,6,6] = aten::add.Tensor(%c, %r, 1)
    %y: f32[1,4,6,6] = aten::relu(%s)
    return %y
  )"));
  EXPECT_EQ(one.operators().find("aten::cat"), std::string::npos) << one.text;
  EXPECT_TRUE(one.says("fused into a sum of convolutions"));
}

TEST(SplitConcatenations, OfAnySizeToo) {
  const Fused one =
      fused_at_every_size({{"h", 1, 5}, {"v", 2, 6}},
                          with_constants({{"w", {4, 5, 3, 3}}, {"b", {4}}}, "%x: f32[1,2,h,v], %z: f32[1,3,h,v]", R"(
    %j: f32[1,5,h,v] = aten::cat([%x, %z], 1)
    %y: f32[1,4,h,v] = aten::convolution(%j, %w, %b, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
    return %y
  )"));
  EXPECT_EQ(one.operators().find("aten::cat"), std::string::npos) << one.text;
}

}  // namespace
}  // namespace berth::fuse
