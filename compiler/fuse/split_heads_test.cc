// Attention on bytes, a head at a time. The fears: scores of another head; a program of many steps for a small
// attention.
#include "compiler/fuse/split_heads.h"

#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

std::string rounded(const std::string& x, const std::string& type, const std::string& scale, const std::string& zero,
                    const std::string& result) {
  return filled(R"(
    %$r_q: i8$t = quantized_decomposed::quantize_per_tensor(%$x, $s, $z, -128, 127, i8)
    %$r: f32$t = quantized_decomposed::dequantize_per_tensor(%$r_q, $s, $z, -128, 127, i8, none)
)",
                {{"x", x}, {"t", type}, {"s", scale}, {"z", zero}, {"r", result}});
}

struct Given {
  std::string tokens = "160";
  std::string heads = "3";
  std::string mask;  // an input %m that is added to the scores
  std::string softmax = "-1";
  std::string outputs = "%y";
  double tolerance = 0.03;  // a score that is rounded another way moves a result by a step
};

Fused attention(const Given& given) {
  const auto sizes = [&](const char* text) { return filled(text, {{"h", given.heads}, {"n", given.tokens}}); };
  const std::string rows = sizes("[$h,$n,8]"), turned = sizes("[$h,8,$n]");
  const std::string scores = sizes("[$h,$n,$n]"), images = sizes("[1,$h,$n,$n]");
  std::string body = rounded("q", rows, "0.02", "3", "a") + rounded("k", turned, "0.03", "-5", "b") +
                     rounded("v", rows, "0.025", "7", "c") + filled("%s: f32$t = aten::bmm(%a, %b)", {{"t", scores}}) +
                     rounded("s", scores, "0.15", "0", "d") +
                     filled("%i: f32$i = aten::view_copy(%d, $i)", {{"i", images}});
  const std::string masked = given.mask.empty() ? "i" : "j";
  if (!given.mask.empty()) body += filled("\n%j: f32$i = aten::add.Tensor(%i, %m, 1)", {{"i", images}});
  body += filled("\n%p: f32$i = aten::_softmax(%$m, $d, false)", {{"i", images}, {"m", masked}, {"d", given.softmax}}) +
          rounded("p", images, "0.00390625", "-128", "e") +
          filled("%w: f32$t = aten::view_copy(%e, $t)", {{"t", scores}}) +
          filled("\n%o: f32$t = aten::bmm(%w, %c)", {{"t", rows}}) +
          filled("\n%y: i8$t = quantized_decomposed::quantize_per_tensor(%o, 0.04, 1, -128, 127, i8)", {{"t", rows}});
  const std::string inputs = filled("%q: f32$r, %k: f32$c, %v: f32$r", {{"r", rows}, {"c", turned}});
  return fuse_module(
      passes::parsed("method forward(" + inputs + given.mask + ") {" + body + "\nreturn " + given.outputs + "\n}"), 7,
      given.tolerance);
}

TEST(SplitHeads, LargeScoresAreThoseOfAHeadAtATime) {
  const Fused f = attention({});
  EXPECT_EQ(f.count("berth::quantized_linear"), 6u) << f.text;
  EXPECT_EQ(f.count("aten::_softmax"), 3u) << f.text;
  EXPECT_EQ(f.count("aten::slice_copy.Tensor"), 9u) << f.text;
  EXPECT_EQ(f.count("aten::cat"), 1u) << f.text;
  EXPECT_TRUE(f.text.find("f32[1,3,160,160]") == std::string::npos) << f.text;
}

void expect_together(const Given& given) {
  const Fused f = attention(given);
  EXPECT_EQ(f.count("aten::_softmax"), 1u) << f.text;
  EXPECT_EQ(f.count("berth::quantized_linear"), 2u) << f.text;
  EXPECT_EQ(f.count("aten::cat"), 0u) << f.text;
}

TEST(SplitHeads, SmallScoresStayTogether) {
  Given small;
  small.tokens = "40";
  expect_together(small);
}

// What is added to the scores is read by all of them.
TEST(SplitHeads, MaskedScoresStayTogether) {
  Given masked;
  masked.mask = ", %m: f32[1,1,160,160]";
  expect_together(masked);
}

// Of 300 keys many shares are next to half a step, and move together with their row's sum; of 32 results are a few
// steps.
TEST(SplitHeads, OneHeadAndMoreThan64StayAsTheyAre) {
  Given one, many;
  one.tokens = "300";
  one.heads = "1";
  many.tokens = "32";
  many.heads = "65";
  one.tolerance = many.tolerance = 0.1;
  expect_together(one);
  expect_together(many);
}

TEST(SplitHeads, ASoftmaxOfOtherRowsStaysTogether) {
  Given other;
  for (const char* dim : {"2", "1"}) {
    SCOPED_TRACE(dim);
    other.softmax = dim;
    expect_together(other);
  }
}

TEST(SplitHeads, WhatOthersReadStaysTogether) {
  Given read;
  for (const char* outputs : {"%y, %p", "%y, %d_q", "%y, %e_q"}) {
    SCOPED_TRACE(outputs);
    read.outputs = outputs;
    expect_together(read);
  }
}

}  // namespace
}  // namespace berth::fuse
