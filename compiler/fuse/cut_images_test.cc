// Images in strips. The fears: a row of a strip's edge is not what it was, an image that others read is gone, a
// residual comes from other rows, and models that gain nothing are cut.
#include "compiler/fuse/cut_images.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/seeds_testing.h"
#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

struct Window {
  int taps = 1, stride = 1, padding = 0, dilation = 1;
  int after(int size) const { return (size + 2 * padding - (taps - 1) * dilation - 1) / stride + 1; }
};

// A text of constants and one of nodes, which grow.
class Net {
 public:
  explicit Net(unsigned seed) : random_(seed) {}

  int number(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }

  // The image `to` of `from`; its sums are about as large as a number of 8 bits.
  void conv(const std::string& to, const std::string& from, int in, int out, int groups, const Window& window,
            const std::string& residual = "none") {
    const std::string sizes = "[" + std::to_string(out) + "," + std::to_string(in / groups) + "," +
                              std::to_string(window.taps) + "," + std::to_string(window.taps) + "]";
    std::string bytes;
    for (int i = 0; i < out * in / groups * window.taps * window.taps; ++i) {
      bytes += (i == 0 ? "" : ", ") + std::to_string(number(-128, 127));
    }
    constants += "const @w_" + to + ": i8" + sizes + " = dense<[" + bytes + "]>\nconst @s_" + to +
                 ": f32[1] = dense<[" + std::to_string(1.0 / (60 * window.taps * std::sqrt(in / groups))) + "]>\n";
    values += "%w_" + to + ": i8" + sizes + " = const @w_" + to + "\n%s_" + to + ": f32[1] = const @s_" + to + "\n";
    height_[to] = window.after(height_[from]);
    const auto pair = [](int n) { return "[" + std::to_string(n) + ", " + std::to_string(n) + "]"; };
    nodes += "%" + to + ": i8" + shape(to, out) + " = berth::quantized_conv(%" + from + ", none, none, %w_" + to +
             ", none, %s_" + to + ", none, " + residual + ", " + pair(window.stride) + ", " + pair(window.padding) +
             ", " + pair(window.dilation) + ", " + std::to_string(groups) +
             ", \"none\", 0.0, 0.0, 0.0, 0, 1.0, 3, 1.0, 5, -128, 127, \"divide\", i8, \"\")\n";
  }

  void begin(const std::string& image, int height) { height_[image] = height; }
  int height(const std::string& image) const { return height_.at(image); }
  std::string shape(const std::string& image, int channels) const {
    const std::string side = std::to_string(height_.at(image));
    return "[1," + std::to_string(channels) + "," + side + "," + side + "]";
  }
  Fused fused(const std::string& result) const {
    return fuse::fused(constants + "method forward(%x: i8" + shape("x", 16) + ") {\n" + values + nodes + "return " +
                       result + "\n}");
  }

  std::string constants, values, nodes;

 private:
  std::mt19937 random_;
  std::map<std::string, int> height_;
};

// 16 channels to 128 and back, 64x64.
Net block(const Window& window, const std::string& residual = "none") {
  Net net(3);
  net.begin("x", 64);
  net.conv("wide", "x", 16, 128, 1, {});
  net.conv("seen", "wide", 128, 128, 128, window);
  net.conv("out", "seen", 128, 16, 1, {}, residual);
  return net;
}

TEST(CutImages, WideImagesAreThereInStrips) {
  const Fused one = block({3, 1, 1}).fused("%out");
  EXPECT_GT(one.count("berth::quantized_conv"), 3u) << one.text;
  EXPECT_EQ(one.count("berth::quantized_conv") % 3, 0u) << one.text;
  EXPECT_EQ(one.text.find("i8[1,128,64,64]"), std::string::npos) << one.text;
  EXPECT_TRUE(one.says("fused into strips of an image"));
}

TEST(CutImages, AResidualComesFromTheSameRows) {
  const Fused one = block({3, 1, 1}, "%x").fused("%out");
  EXPECT_GT(one.count("berth::quantized_conv"), 3u) << one.text;
  // Where padding spoils rows at the end of a strip, those of the residual are as many.
  Net net(6);
  net.begin("x", 64);
  net.conv("wide", "x", 16, 128, 1, {});
  net.conv("out", "wide", 128, 16, 1, {3, 1, 1}, "%x");
  EXPECT_GT(net.fused("%out").count("berth::quantized_conv"), 2u);
}

TEST(CutImages, WindowsOfManyKindsSeeTheSameRows) {
  for (const Window& window : {Window{3, 2, 1}, Window{5, 1, 2}, Window{5, 2, 2}, Window{3, 1, 2, 2}, Window{3, 1, 0},
                               Window{7, 3, 3}, Window{3, 1, 2}}) {
    SCOPED_TRACE("taps " + std::to_string(window.taps) + " stride " + std::to_string(window.stride));
    const Fused one = block(window).fused("%out");
    EXPECT_GT(one.count("berth::quantized_conv"), 3u) << one.text;
  }
}

TEST(CutImages, WhatOthersReadStaysWhole) {
  const Fused seen = block({3, 1, 1}).fused("%out, %seen");
  EXPECT_NE(seen.text.find("i8[1,128,64,64]"), std::string::npos) << seen.text;
  const Fused both = block({3, 1, 1}).fused("%out, %seen, %wide");
  EXPECT_EQ(both.count("berth::quantized_conv"), 3u) << both.text;
}

// An image twice as large that others read is there in any case.
TEST(CutImages, NothingIsCutBelowWhatTheModelNeedsAnyhow) {
  Net net = block({3, 1, 1});
  net.conv("large", "x", 16, 256, 1, {});
  net.conv("larger", "x", 16, 256, 1, {});
  const Fused one = net.fused("%out, %large, %larger");
  EXPECT_EQ(one.count("berth::quantized_conv"), 5u) << one.text;
}

// Nor where what is twice as large lies between others, and only they read it.
TEST(CutImages, NothingIsCutBelowALargerImageOfTheSameDelegate) {
  Net net = block({3, 1, 1});
  net.conv("large", "x", 16, 512, 1, {});
  net.conv("one", "large", 512, 16, 1, {});
  net.conv("other", "large", 512, 16, 1, {});
  const Fused one = net.fused("%out, %one, %other");
  EXPECT_EQ(one.count("berth::quantized_conv"), 6u) << one.text;
}

TEST(CutImages, SmallImagesStayWhole) {
  Net net(3);
  net.begin("x", 40);
  net.conv("wide", "x", 16, 128, 1, {});
  net.conv("seen", "wide", 128, 128, 128, {3, 1, 1});
  net.conv("out", "seen", 128, 16, 1, {});
  EXPECT_EQ(net.fused("%out").count("berth::quantized_conv"), 3u);
}

// Two images joined, one of them through a chain, under windows, as at the end of a U-Net.
TEST(CutImages, ChainsAndJoinedChannelsAreCutAlong) {
  Net net(4);
  net.begin("x", 64);
  net.conv("a", "x", 16, 64, 1, {});
  net.conv("b", "x", 16, 64, 1, {3, 1, 1});
  net.begin("c", 64);
  // Bytes of one scale as those of another.
  net.nodes +=
      "%r: i8" + net.shape("b", 64) +
      " = berth::elementwise([%b], [1, 0, 1, 0, 2, 7, 2, 0, 3, 8, 3, 0, 30, 9, 0, 0, 0, 10, 4, 0, 19, 11, 6, 5, "
      "33, 12, 0, 0], [-9.0, 0.016, 0.0324, -9.0, 127.0, -128.0])\n%c: i8" +
      net.shape("c", 128) + " = aten::cat([%a, %r], 1)\n";
  net.conv("d", "c", 128, 16, 1, {3, 1, 1});
  net.conv("out", "d", 16, 16, 1, {3, 1, 1});
  const Fused one = net.fused("%out");
  EXPECT_GT(one.count("berth::quantized_conv"), 4u) << one.text;
  EXPECT_EQ(one.text.find("i8[1,128,64,64]"), std::string::npos) << one.text;
}

// Both images of the chain are large. The cut adds values while it reads those that are there.
TEST(CutImages, ChainsOfTwoLargeImagesAreCutHoweverManyValuesThereAre) {
  for (int others = 0; others < 18; ++others) {
    SCOPED_TRACE(others);
    Net net(5);
    net.begin("x", 64);
    for (int i = 0; i < others; ++i) {
      net.nodes += "%other" + std::to_string(i) + ": i8" + net.shape("x", 16) + " = aten::clone(%x)\n";
    }
    net.conv("a", "x", 16, 128, 1, {});
    net.conv("b", "x", 16, 128, 1, {});
    net.begin("e", 64);
    net.nodes += "%e: i8" + net.shape("e", 128) +
                 " = berth::elementwise([%a, %b], [0, 0, 1, 0, 2, 4, 2, 0, 30, 5, 0, 0, 19, 6, 3, 2, 33, 7, 0, 0], "
                 "[0.5, 127.0])\n";
    net.conv("d", "e", 128, 128, 128, {3, 1, 1});
    net.conv("out", "d", 128, 16, 1, {});
    const Fused one = net.fused("%out");
    EXPECT_GT(one.count("berth::quantized_conv"), 4u) << one.text;
    EXPECT_EQ(one.text.find("i8[1,128,64,64]"), std::string::npos) << one.text;
  }
}

TEST(CutImages, RandomBlocksGiveTheSameBytes) {
  size_t cut = 0;
  berth::testing::for_each_seed(4, [&](unsigned seed) {
    Net net(seed);
    const auto window = [&] {
      Window one{net.number(1, 3) * 2 - 1, net.number(1, 2), 0, net.number(1, 2)};
      one.padding = net.number(0, (one.taps - 1) * one.dilation);
      return one;
    };
    net.begin("x", net.number(60, 70));
    net.conv("a", "x", 16, 96, 1, {});
    net.conv("b", "a", 96, 96, net.number(0, 1) == 0 ? 96 : 16, window());
    net.conv("c", "b", 96, 16, 1, {});
    net.conv("d", "c", 16, 16, 16, window());
    if (net.fused("%d").count("berth::quantized_conv") > 4) ++cut;
  });
  EXPECT_GT(cut, 0u);
}

}  // namespace
}  // namespace berth::fuse
