// Channels cut out of groups. The fears: channels of the next group, another order, images of other sizes.
#include "compiler/fuse/cut_channels.h"

#include "base/text_testing.h"
#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

// Channels 1 to 3 of each of two groups of five, as an image of $sizes.
std::string cut(const std::string& sizes, const std::string& batch = "1") {
  return filled(R"(
    method forward(%i: f32[$n,1,2,3], %filter: f32[10,1,1,1]) {
      %x: f32[$n,10,2,3] = aten::convolution(%i, %filter, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
      %a: f32[$n,10,2,3] = aten::relu(%x)
      %v: f32[$n,2,5,6] = aten::view_copy(%a, [$n, 2, 5, 6])
      %s: f32[$n,2,2,6] = aten::slice_copy.Tensor(%v, 2, 1, 3, 1)
      %y: f32[$sizes] = aten::view_copy(%s, [$sizes])
      return %y
    })",
                {{"sizes", sizes}, {"n", batch}});
}

TEST(CutChannels, ChannelsOfEachGroupAreCutOutOfRows) {
  for (const std::string batch : {"1", "3"}) {
    const Fused one = fused(cut(batch + ", 4, 2, 3", batch));
    EXPECT_NE(one.text.find("aten::slice_copy.Tensor(%v_3, 3, 1, 3, 1)"), std::string::npos) << one.text;
    // The image that is given alone.
    EXPECT_EQ(one.count("dim_order_ops::_clone_dim_order"), 1u) << one.text;
  }
}

TEST(CutChannels, OtherImagesAreViewsOfTheCut) {
  for (const char* sizes : {"1, 2, 4, 3", "1, 4, 3, 2", "2, 2, 2, 3"}) {
    const Fused one = fused(cut(sizes));
    EXPECT_NE(one.text.find("aten::slice_copy.Tensor(%v, 2, 1, 3, 1)"), std::string::npos) << one.text;
  }
}

}  // namespace
}  // namespace berth::fuse
