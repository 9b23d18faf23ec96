// Attention on bytes, a head at a time. The fears: scores of another head; a program of many steps for a small attention.
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

// Three heads of so many tokens; a score that is rounded another way moves a result by a step. What is added to the scores, if anything, is read by all of them.
Fused attention(const std::string& tokens, const std::string& mask = "") {
  const std::string rows = "[3," + tokens + ",8]", turned = "[3,8," + tokens + "]";
  const std::string scores = "[3," + tokens + "," + tokens + "]", images = "[1,3," + tokens + "," + tokens + "]";
  std::string body = rounded("q", rows, "0.02", "3", "a") + rounded("k", turned, "0.03", "-5", "b") +
                     rounded("v", rows, "0.025", "7", "c") + filled("%s: f32$t = aten::bmm(%a, %b)", {{"t", scores}}) +
                     rounded("s", scores, "0.15", "0", "d") +
                     filled("%i: f32$i = aten::view_copy(%d, [1, 3, $n, $n])", {{"i", images}, {"n", tokens}});
  const std::string masked = mask.empty() ? "i" : "j";
  if (!mask.empty()) body += filled("\n%j: f32$i = aten::add.Tensor(%i, %m, 1)", {{"i", images}});
  body += filled("\n%p: f32$i = aten::_softmax(%$m, -1, false)", {{"i", images}, {"m", masked}}) +
          rounded("p", images, "0.00390625", "-128", "e") +
          filled("%w: f32$t = aten::view_copy(%e, [3, $n, $n])", {{"t", scores}, {"n", tokens}}) +
          filled("\n%o: f32$t = aten::bmm(%w, %c)", {{"t", rows}}) +
          filled("\n%y: i8$t = quantized_decomposed::quantize_per_tensor(%o, 0.04, 1, -128, 127, i8)", {{"t", rows}});
  const std::string inputs = filled("%q: f32$r, %k: f32$c, %v: f32$r", {{"r", rows}, {"c", turned}});
  return fuse_module(passes::parsed("method forward(" + inputs + mask + ") {" + body + "\nreturn %y\n}"), 7, 0.03);
}

size_t count(const Fused& fused, const std::string& op) {
  size_t found = 0;
  for (size_t at = fused.text.find(op + "("); at != std::string::npos; at = fused.text.find(op + "(", at + 1)) ++found;
  return found;
}

TEST(SplitHeads, LargeScoresAreThoseOfAHeadAtATime) {
  const Fused f = attention("160");
  EXPECT_EQ(count(f, "berth::quantized_linear"), 6u) << f.text;
  EXPECT_EQ(count(f, "aten::_softmax"), 3u) << f.text;
  EXPECT_EQ(count(f, "aten::slice_copy.Tensor"), 9u) << f.text;
  EXPECT_EQ(count(f, "aten::cat"), 1u) << f.text;
  EXPECT_TRUE(f.text.find("f32[1,3,160,160]") == std::string::npos) << f.text;
}

TEST(SplitHeads, OthersStayTogether) {
  const Fused small = attention("40");
  EXPECT_EQ(count(small, "aten::_softmax"), 1u) << small.text;
  EXPECT_EQ(count(small, "berth::quantized_linear"), 2u) << small.text;
  const Fused masked = attention("160", ", %m: f32[1,1,160,160]");
  EXPECT_EQ(count(masked, "aten::_softmax"), 1u) << masked.text;
  EXPECT_EQ(count(masked, "aten::cat"), 0u) << masked.text;
}

}  // namespace
}  // namespace berth::fuse
