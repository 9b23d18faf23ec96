// Attention whose heads lie in channels. The fears: channels of another head or part, a batch taken for heads, tokens
// and columns exchanged, a copy of keys for one query.
#include "compiler/fuse/channel_heads.h"

#include "base/text_testing.h"
#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

// Three heads of four channels over $t places, out of convolutions of their own, as speech models write it.
std::string of_signals(const std::string& batch, const std::string& heads, const std::string& tokens) {
  return filled(R"(
    method forward(%q: f32[$n,12,$t], %k: f32[$n,12,$t], %v: f32[$n,12,$t]) {
      %q4: f32[$n,3,4,$t] = aten::view_copy(%q, [$n, 3, 4, $t])
      %qt: f32[$n,3,$t,4] = aten::permute_copy(%q4, [0, 1, 3, 2])
      %q3: f32[$h,$t,4] = aten::view_copy(%qt, [$h, $t, 4])
      %k3: f32[$h,4,$t] = aten::view_copy(%k, [$h, 4, $t])
      %v4: f32[$n,3,4,$t] = aten::view_copy(%v, [$n, 3, 4, $t])
      %vt: f32[$n,3,$t,4] = aten::permute_copy(%v4, [0, 1, 3, 2])
      %v3: f32[$h,$t,4] = aten::view_copy(%vt, [$h, $t, 4])
      %s: f32[$h,$t,$t] = aten::bmm(%q3, %k3)
      %s4: f32[$n,3,$t,$t] = aten::view_copy(%s, [$n, 3, $t, $t])
      %d: f32[$n,3,$t,$t] = aten::mul.Scalar(%s4, 0.5)
      %f: f32[$n,3,$t,$t] = aten::_softmax(%d, 3, false)
      %f3: f32[$h,$t,$t] = aten::view_copy(%f, [$h, $t, $t])
      %o: f32[$h,$t,4] = aten::bmm(%f3, %v3)
      %o4: f32[$n,3,$t,4] = aten::view_copy(%o, [$n, 3, $t, 4])
      %r: f32[$n,3,4,$t] = aten::permute_copy(%o4, [0, 1, 3, 2])
      %y: f32[$n,12,$t] = aten::view_copy(%r, [$n, 12, $t])
      return %y
    })",
                {{"n", batch}, {"h", heads}, {"t", tokens}});
}

// Two heads over six places of a convolution's eight channels each, as detectors of the YOLO family write it.
std::string of_images(const std::string& batch, const std::string& heads) {
  return filled(R"(
    method forward(%i: f32[$n,1,2,3], %filter: f32[16,1,1,1]) {
      %x: f32[$n,16,2,3] = aten::convolution(%i, %filter, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
      %v: f32[$n,2,8,6] = aten::view_copy(%x, [$n, 2, 8, 6])
      %q: f32[$n,2,2,6], %k: f32[$n,2,2,6], %w: f32[$n,2,4,6] = aten::split_with_sizes_copy(%v, [2, 2, 4], 2)
      %t: f32[$n,2,6,2] = aten::transpose_copy.int(%q, -2, -1)
      %t3: f32[$h,6,2] = aten::view_copy(%t, [$h, 6, 2])
      %k3: f32[$h,2,6] = aten::view_copy(%k, [$h, 2, 6])
      %s: f32[$h,6,6] = aten::bmm(%t3, %k3)
      %s4: f32[$n,2,6,6] = aten::view_copy(%s, [$n, 2, 6, 6])
      %d: f32[$n,2,6,6] = aten::mul.Scalar(%s4, 0.75)
      %f: f32[$n,2,6,6] = aten::_softmax(%d, -1, false)
      %g: f32[$n,2,6,6] = aten::transpose_copy.int(%f, -2, -1)
      %w3: f32[$h,4,6] = aten::view_copy(%w, [$h, 4, 6])
      %g3: f32[$h,6,6] = aten::view_copy(%g, [$h, 6, 6])
      %o: f32[$h,4,6] = aten::bmm(%w3, %g3)
      %y: f32[$n,8,2,3] = aten::view_copy(%o, [$n, 8, 2, 3])
      return %y
    })",
                {{"n", batch}, {"h", heads}});
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  EXPECT_NE(text.find(from), std::string::npos) << from;
  return text.replace(text.find(from), from.size(), to);
}

TEST(ChannelHeads, AttentionOverPlacesOfSignalsIsOneOperatorOverRows) {
  for (const std::string batch : {"1", "2"}) {
    const Fused one = fused(of_signals(batch, batch == "1" ? "3" : "6", "5"));
    EXPECT_EQ(one.count("berth::attention"), 1u) << one.text;
    EXPECT_EQ(one.count("aten::bmm"), 0u) << one.text;
    EXPECT_EQ(one.count("aten::permute_copy"), 4u) << one.text;
    EXPECT_NE(one.text.find("none, 3, 4, 0, 0, 0, 0.5, false)"), std::string::npos) << one.text;
  }
}

TEST(ChannelHeads, QueriesKeysAndValuesMayBeChannelsOfOneTensor) {
  std::string text = with(of_signals("1", "3", "5"), "(%q: f32[1,12,5], %k: f32[1,12,5], %v: f32[1,12,5]) {",
                          R"((%x: f32[1,40,5]) {
      %v: f32[1,12,5] = aten::slice_copy.Tensor(%x, 1, 2, 14, 1)
      %k: f32[1,12,5] = aten::slice_copy.Tensor(%x, 1, 14, 26, 1)
      %q: f32[1,12,5] = aten::slice_copy.Tensor(%x, 1, 28, 40, 1))");
  const Fused one = fused(text);
  EXPECT_EQ(one.operators(), "aten::permute_copy berth::attention aten::permute_copy") << one.text;
  EXPECT_NE(one.text.find("none, 3, 4, 28, 14, 2, 0.5, false)"), std::string::npos) << one.text;
}

TEST(ChannelHeads, AnyNumberOfPlacesAndOfSignalsIsOneOperatorToo) {
  const Fused open = fused_at_every_size({{"n", 1, 3}, {"s", 1, 9}}, of_signals("n", "(n * 3)", "s"));
  EXPECT_EQ(open.count("berth::attention"), 1u) << open.text;
  EXPECT_EQ(fused_at_every_size({{"s", 1, 20}}, of_signals("1", "3", "s")).count("berth::attention"), 1u);
}

// The values of a head are longer than its keys.
TEST(ChannelHeads, EachHeadMayHaveItsQueriesKeysAndValuesSideBySide) {
  for (const std::string batch : {"1", "3"}) {
    const Fused one = fused(of_images(batch, batch == "1" ? "2" : "6"));
    EXPECT_EQ(one.count("berth::grouped_attention.rows"), 1u) << one.text;
    EXPECT_EQ(one.count("aten::bmm"), 0u) << one.text;
    EXPECT_EQ(one.count("aten::split_with_sizes_copy"), 0u) << one.text;
    EXPECT_EQ(one.count("aten::slice_copy.Tensor"), 3u) << one.text;
  }
}

TEST(ChannelHeads, KeysThatAreScaledAreScaledOnce) {
  for (const std::string factor : {"0.5", "3.0"}) {
    std::string text = of_images("1", "2");
    text = with(text, "%k3: f32[2,2,6] = aten::view_copy(%k,",
                "%ks: f32[1,2,2,6] = aten::mul.Scalar(%k, " + factor + ")\n%k3: f32[2,2,6] = aten::view_copy(%ks,");
    const Fused one = fused(text);
    EXPECT_EQ(one.count("berth::grouped_attention.rows"), 1u) << one.text;
  }
}

// Rows of one channel are columns as well: what is read of them is not scaled yet.
TEST(ChannelHeads, KeysOfOneChannelThatAreScaledAreScaledOnce) {
  const Fused one = fused(R"(
    method forward(%i: f32[1,1,2,3], %filter: f32[2,1,1,1], %q: f32[2,6,1], %v: f32[2,6,4]) {
      %x: f32[1,2,2,3] = aten::convolution(%i, %filter, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
      %k: f32[1,2,6,1] = aten::view_copy(%x, [1, 2, 6, 1])
      %s: f32[1,2,6,1] = aten::mul.Scalar(%k, 5.0)
      %t: f32[1,2,1,6] = aten::transpose_copy.int(%s, -2, -1)
      %t3: f32[2,1,6] = aten::view_copy(%t, [2, 1, 6])
      %p: f32[2,6,6] = aten::bmm(%q, %t3)
      %p4: f32[1,2,6,6] = aten::view_copy(%p, [1, 2, 6, 6])
      %f: f32[1,2,6,6] = aten::_softmax(%p4, -1, false)
      %f3: f32[2,6,6] = aten::view_copy(%f, [2, 6, 6])
      %y: f32[2,6,4] = aten::bmm(%f3, %v)
      return %y
    })");
  EXPECT_EQ(one.count("aten::bmm"), 0u) << one.text;
}

// Of heads of one channel, tokens and columns have the same distance.
TEST(ChannelHeads, HeadsOfOneChannelStayWhatTheyAre) {
  std::string text = of_images("1", "2");
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"[2, 2, 4], 2)", "[1, 1, 6], 2)"},
           {"%q: f32[1,2,2,6], %k: f32[1,2,2,6], %w: f32[1,2,4,6]",
            "%q: f32[1,2,1,6], %k: f32[1,2,1,6], %w: f32[1,2,6,6]"},
           {"%t: f32[1,2,6,2]", "%t: f32[1,2,6,1]"},
           {"%t3: f32[2,6,2] = aten::view_copy(%t, [2, 6, 2])", "%t3: f32[2,6,1] = aten::view_copy(%t, [2, 6, 1])"},
           {"%k3: f32[2,2,6] = aten::view_copy(%k, [2, 2, 6])", "%k3: f32[2,1,6] = aten::view_copy(%k, [2, 1, 6])"},
           {"%w3: f32[2,4,6] = aten::view_copy(%w, [2, 4, 6])", "%w3: f32[2,6,6] = aten::view_copy(%w, [2, 6, 6])"},
           {"%o: f32[2,4,6]", "%o: f32[2,6,6]"},
           {"%y: f32[1,8,2,3] = aten::view_copy(%o, [1, 8, 2, 3])",
            "%y: f32[1,12,2,3] = aten::view_copy(%o, [1, 12, 2, 3])"}}) {
    text = with(text, from, to);
  }
  const Fused one = fused(text);
  EXPECT_EQ(one.count("berth::grouped_attention.rows"), 1u) << one.text;
}

// A cache that keeps its keys in columns is read by products as it is.
TEST(ChannelHeads, KeysInColumnsAreNotCopiedForOneQuery) {
  const std::string text = R"(
    method forward(%q: f32[2,1,4], %k: f32[2,4,6], %v: f32[2,6,4]) {
      %s: f32[2,1,6] = aten::bmm(%q, %k)
      %f: f32[2,1,6] = aten::_softmax(%s, -1, false)
      %o: f32[2,1,4] = aten::bmm(%f, %v)
      return %o
    })";
  EXPECT_EQ(fused(text).operators(), "aten::bmm aten::_softmax aten::bmm");
  std::string two = text;
  for (const char* from : {"%q: f32[2,1,4]", "%s: f32[2,1,6]", "%f: f32[2,1,6]", "%o: f32[2,1,4]"}) {
    two = with(two, from, std::string(from, 10) + "2" + std::string(from + 11));
  }
  EXPECT_EQ(fused(two).operators(), "aten::permute_copy berth::grouped_attention");
}

}  // namespace
}  // namespace berth::fuse
