// Activations behind a concatenation of convolutions. The fears: a part that others read, a part that is not a
// convolution and keeps an operator more.
#include "compiler/fuse/split_activations.h"

#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

std::string joined(const std::string& rest) {
  return with_constants({{"v", {9, 3, 3, 3}}, {"w", {17, 3, 1, 1}}}, "%x: f32[1,3,6,6]", R"(
    %c: f32[1,9,6,6] = aten::convolution(%x, %v, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
    %d: f32[1,17,6,6] = aten::convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
)" + rest);
}

TEST(SplitActivations, ConvolutionsEndWithWhatFollowsTheirConcatenation) {
  for (const std::string activation :
       {"%y: f32[1,26,6,6] = aten::relu(%j)\n", "%y: f32[1,26,6,6] = aten::clamp(%j, 0, 6)\n",
        "%s: f32[1,26,6,6] = aten::sigmoid(%j)\n%y: f32[1,26,6,6] = aten::mul.Tensor(%j, %s)\n"}) {
    const Fused one = fused(joined("%j: f32[1,26,6,6] = aten::cat([%c, %d], 1)\n" + activation + "return %y\n"));
    EXPECT_EQ(one.count("berth::conv"), 2U) << one.text;
    EXPECT_EQ(one.count("aten::cat"), 1U) << one.text;
    EXPECT_EQ(one.count("berth::elementwise") + one.count("aten::relu") + one.count("aten::clamp"), 0U) << one.text;
  }
}

TEST(SplitActivations, WhatOthersReadStaysWhole) {
  for (const char* rest :
       {"%j: f32[1,26,6,6] = aten::cat([%c, %d], 1)\n%y: f32[1,26,6,6] = aten::relu(%j)\nreturn %y, %c\n",
        "%j: f32[1,26,6,6] = aten::cat([%c, %d], 1)\n%y: f32[1,26,6,6] = aten::relu(%j)\nreturn %y, %j\n",
        "%e: f32[1,9,6,6] = aten::neg(%c)\n%j: f32[1,26,6,6] = aten::cat([%e, %d], 1)\n"
        "%y: f32[1,26,6,6] = aten::relu(%j)\nreturn %y\n"}) {
    const Fused one = fused(joined(rest));
    EXPECT_NE(one.text.find("f32[1,26,6,6]{0,2,3,1} = aten::relu("), std::string::npos) << one.text;
  }
}

}  // namespace
}  // namespace berth::fuse
