// Norms of rows that stand for groups of channels. The fear: a scale taken for one of a channel.
#include "compiler/fuse/fuse_group_norms.h"

#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

const std::string kRowNorm = R"(
  %v: f32[2,2,36] = aten::view_copy(%x, [2, 2, 36])
  %n: f32[2,2,36], %m: f32[2,2], %s: f32[2,2] = aten::native_group_norm(%v, none, none, 2, 2, 36, 2, 1e-05)
  %u: f32[2,4,3,6] = aten::view_copy(%n, [2, 4, 3, 6])
)";

TEST(FuseGroupNorms, ANormOfRowsThatAreGroupsIsAGroupNormOfTheImage) {
  const Fused one = fused(with_constants({{"w", {4, 1, 1}}, {"b", {1, 4, 1, 1}}}, "%x: f32[2,4,3,6]", kRowNorm + R"(
    %p: f32[2,4,3,6] = aten::mul.Tensor(%w, %u)
    %y: f32[2,4,3,6] = aten::add.Tensor(%p, %b, 1)
    return %y
  )"));
  EXPECT_EQ(one.operators(), "aten::native_group_norm") << one.text;
  const Fused last = fused(with_constants({{"b", {1, 4, 1, 1}}}, "%x: f32[2,4,3,6]", kRowNorm + R"(
    %y: f32[2,4,3,6] = aten::add.Tensor(%u, %b, 1)
    return %y
  )"));
  EXPECT_EQ(last.operators(), "aten::native_group_norm") << last.text;
}

TEST(FuseGroupNorms, AScaleThatIsNotPerChannelStaysAfterTheNorm) {
  for (const std::vector<int>& sizes : {std::vector<int>{4, 1, 6}, {1, 3, 1}, {3, 6}, {2, 4, 1, 1}}) {
    const Fused one = fused(with_constants({{"w", sizes}}, "%x: f32[2,4,3,6]", kRowNorm + R"(
      %y: f32[2,4,3,6] = aten::mul.Tensor(%u, %w)
      return %y
    )"));
    EXPECT_EQ(one.operators(), "aten::native_group_norm aten::mul.Tensor") << one.text;
  }
  const Fused sum = fused(with_constants({{"w", {4, 1, 1}}, {"b", {4, 1, 1}}}, "%x: f32[2,4,3,6]", kRowNorm + R"(
    %a: f32[2,4,3,6] = aten::add.Tensor(%u, %b, 1)
    %y: f32[2,4,3,6] = aten::mul.Tensor(%a, %w)
    return %y
  )"));
  EXPECT_EQ(sum.operators(), "aten::native_group_norm aten::mul.Tensor") << sum.text;
  const Fused twice = fused(with_constants({{"b", {4, 1, 1}}}, "%x: f32[2,4,3,6]", kRowNorm + R"(
    %a: f32[2,4,3,6] = aten::add.Tensor(%u, %b, 2)
    return %a
  )"));
  EXPECT_EQ(twice.operators(), "aten::native_group_norm aten::add.Tensor") << twice.text;
  const Fused read = fused(with_constants({{"b", {4, 1, 1}}}, "%x: f32[2,4,3,6]", kRowNorm + R"(
    %a: f32[2,4,3,6] = aten::add.Tensor(%u, %b, 1)
    return %a, %u, %m
  )"));
  EXPECT_EQ(read.operators(), "aten::native_group_norm aten::add.Tensor") << read.text;
}

}  // namespace
}  // namespace berth::fuse
