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

TEST(SplitConcatenations, PooledPartsToo) {
  const auto pooled_parts = [](const std::string& outputs) {
    return fused(with_constants({{"w", {4, 5, 1, 1}}, {"b", {4}}}, "%x: f32[1,2,6,6], %z: f32[1,3,6,6]", R"(
    %j: f32[1,5,6,6] = aten::cat([%x, %z], 1)
    %p: f32[1,5,3,3], %i: i64[1,5,3,3] = aten::max_pool2d_with_indices(%j, [3, 3], [2, 2], [1, 1], [1, 1], false)
    %y: f32[1,4,3,3] = aten::convolution(%p, %w, %b, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    return )" + outputs));
  };
  const Fused one = pooled_parts("%y");
  EXPECT_EQ(one.count("aten::cat"), 0u) << one.text;
  EXPECT_EQ(one.count("aten::max_pool2d_with_indices"), 2u) << one.text;
  for (const char* outputs : {"%y, %p", "%y, %i", "%y, %j"}) {
    const Fused whole = pooled_parts(outputs);
    EXPECT_EQ(whole.count("aten::cat"), 1u) << whole.text;
    EXPECT_EQ(whole.count("aten::max_pool2d_with_indices"), 1u) << whole.text;
  }
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
