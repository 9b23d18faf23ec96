// Channel shuffles. The fear: a step that others read, or that moves other dimensions.
#include "compiler/fuse/fuse_shuffles.h"

#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

const std::string kShuffle = R"(
  %j: f32[1,4,2,3] = aten::cat([%a, %b], 1)
  %v: f32[1,2,2,2,3] = aten::view_copy(%j, [1, 2, 2, 2, 3])
  %p: f32[1,2,2,2,3] = aten::permute_copy(%v, [0, 2, 1, 3, 4])
  %s: f32[1,4,2,3] = aten::view_copy(%p, [1, 4, 2, 3])
)";
const std::string kHalves = "%a: f32[1,2,2,3], %b: f32[1,2,2,3]";

TEST(FuseShuffles, ImagesThatAreJoinedAndShuffledAreMovedOnce) {
  EXPECT_EQ(fused(with_constants({}, kHalves, kShuffle + "return %s")).operators(), "berth::shuffle");
  const std::string split = R"(
    %x: f32[1,1,2,3], %y: f32[1,3,2,3] = aten::split_with_sizes_copy(%s, [1, 3], 1)
  )";
  EXPECT_EQ(fused(with_constants({}, kHalves, kShuffle + split + "return %y, %x")).operators(), "berth::shuffle");
  // The whole is wanted too, so that its parts are cut out of it.
  EXPECT_EQ(fused(with_constants({}, kHalves, kShuffle + split + "return %y, %s")).operators(),
            "berth::shuffle aten::split_with_sizes_copy");
}

TEST(FuseShuffles, ImagesOfAnySizeToo) {
  const Fused one = fused_at_every_size({{"n", 1, 2}, {"h", 1, 4}, {"w", 1, 3}}, R"(
    method forward(%a: f32[n,3,h,w], %b: f32[n,3,h,w]) {
      %j: f32[n,6,h,w] = aten::cat([%a, %b], 1)
      %v: f32[n,2,3,h,w] = aten::view_copy(%j, [n, 2, 3, h, w])
      %p: f32[n,3,2,h,w] = aten::permute_copy(%v, [0, 2, 1, 3, 4])
      %s: f32[n,6,h,w] = aten::view_copy(%p, [n, 6, h, w])
      %x: f32[n,2,h,w], %y: f32[n,4,h,w] = aten::split_with_sizes_copy(%s, [2, 4], 1)
      return %y, %x
    })");
  EXPECT_EQ(one.operators(), "berth::shuffle") << one.text;
}

TEST(FuseShuffles, ShufflesStayWhereAStepIsReadElsewhereOrTurnsOtherDimensions) {
  EXPECT_EQ(fused(with_constants({}, kHalves, kShuffle + "return %s, %j")).operators().find("berth::shuffle"),
            std::string::npos);
  std::string turned = kShuffle;
  turned.replace(turned.find("[0, 2, 1, 3, 4]"), 15, "[0, 2, 1, 4, 3]")
      .replace(turned.find("f32[1,2,2,2,3] = aten::perm"), 14, "f32[1,2,2,3,2]");
  EXPECT_EQ(fused(with_constants({}, kHalves, turned + "return %s")).operators().find("berth::shuffle"),
            std::string::npos);
}

}  // namespace
}  // namespace berth::fuse
