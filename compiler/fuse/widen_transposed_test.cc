// Transposed convolutions to few channels as convolutions to all positions of a stride. The fears: a position with the
// weight of another, padding cut at the wrong end, an activation that sees only a part, and what is slower that way.
#include "compiler/fuse/widen_transposed.h"

#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

struct Sizes {
  std::string image = "[2,8,12,10]", result = "[2,3,24,20]";
  std::vector<int> weight = {8, 3, 4, 4};
  std::string stride = "[2, 2]", padding = "[1, 1]", output_padding = "[0, 0]", dilation = "[1, 1]";
  int groups = 1;
  std::string end = "return %c";
};

std::string transposed(const Sizes& s) {
  return with_constants(
      {{"w", s.weight}, {"b", {s.weight[1] * s.groups}}}, "%x: f32" + s.image,
      filled("%c: f32$result = aten::convolution(%x, %w, %b, $stride, $padding, $dilation, true, $more, "
             "$groups)\n$end",
             {{"result", s.result},
              {"stride", s.stride},
              {"padding", s.padding},
              {"dilation", s.dilation},
              {"more", s.output_padding},
              {"groups", std::to_string(s.groups)},
              {"end", s.end}}));
}

// Compares what it computes, too.
bool is_widened(const Sizes& s) {
  const Fused one = fused(transposed(s));
  EXPECT_NE(one.operators().find("berth::conv"), std::string::npos) << one.text;
  return one.text.find("_wide") != std::string::npos;
}

TEST(WidenTransposed, EachPlaceHasItsOwnWeight) { EXPECT_TRUE(is_widened({})); }

TEST(WidenTransposed, WindowsNeedNotBeMultiplesOfTheirStride) {
  Sizes s;
  s.weight = {8, 2, 5, 3};
  s.stride = "[3, 2]";
  s.padding = "[2, 0]";
  s.output_padding = "[1, 1]";
  s.result = "[2,2,35,22]";
  EXPECT_TRUE(is_widened(s));
}

// A stride more than the image has is nearly all of a small one.
TEST(WidenTransposed, WindowsOfThreeAreWorthItFromSevenPlacesOn) {
  for (const auto& [side, result, wide] : {std::tuple{"7", "15", true}, {"6", "13", false}}) {
    Sizes s;
    s.weight = {8, 2, 3, 3};
    s.padding = "[0, 0]";
    s.image = std::string("[1,8,") + side + "," + side + "]";
    s.result = std::string("[1,2,") + result + "," + result + "]";
    EXPECT_EQ(is_widened(s), wide) << side;
  }
}

TEST(WidenTransposed, PaddingIsCutOnItsOwnSide) {
  Sizes s;
  s.padding = "[0, 1]";
  s.result = "[2,3,26,20]";
  EXPECT_TRUE(is_widened(s));
  s.padding = "[1, 0]";
  s.output_padding = "[1, 0]";
  s.result = "[2,3,25,22]";
  EXPECT_TRUE(is_widened(s));
}

TEST(WidenTransposed, SignalsAreImagesOfOneLine) {
  const std::string text = with_constants({{"w", {8, 1, 16}}, {"b", {1}}}, "%x: f32[1,8,50]", R"(
    %c: f32[1,1,408] = aten::convolution(%x, %w, %b, [8], [0], [1], true, [0], 1)
    %t: f32[1,1,408] = aten::relu(%c)
    return %t
  )");
  const Fused one = fused(text);
  EXPECT_NE(one.text.find("_wide"), std::string::npos) << one.text;
  EXPECT_NE(one.text.find("\"relu\""), std::string::npos) << one.text;
}

TEST(WidenTransposed, OthersStay) {
  Sizes s;
  s.weight = {8, 16, 4, 4};
  s.result = "[2,16,24,20]";
  EXPECT_FALSE(is_widened(s)) << "whole registers";
  s = {};
  s.weight = {8, 3, 2, 2};
  s.stride = "[1, 1]";
  s.padding = "[0, 0]";
  s.result = "[2,3,13,11]";
  EXPECT_FALSE(is_widened(s)) << "steps of one";
  s = {};
  s.dilation = "[2, 2]";
  s.result = "[2,3,27,23]";
  EXPECT_FALSE(is_widened(s)) << "windows with holes";
  s = {};
  s.groups = 2;
  s.weight = {8, 2, 4, 4};
  s.result = "[2,4,24,20]";
  EXPECT_FALSE(is_widened(s)) << "groups";
  s = {};
  s.end = "%r: f32[2,3,24,20] = aten::add.Tensor(%c, %y, 1)\nreturn %r";
  EXPECT_FALSE([&] {
    std::string text = transposed(s);
    text.replace(text.find("%x: f32" + s.image), 7 + s.image.size(), "%x: f32" + s.image + ", %y: f32" + s.result);
    return fused(text).text.find("_wide") != std::string::npos;
  }()) << "a residual";
}

}  // namespace
}  // namespace berth::fuse
