// Packed weights. The fears: a layout that cannot be undone, a text of another version or processor that is read wrong,
// a hostile text that reads beyond its weight.

#include "kernels/cpu/packing.h"

#include <gtest/gtest.h>

#include <numeric>

#include "kernels/cpu/conv.h"
#include "kernels/cpu/conv_testing.h"
#include "kernels/cpu/packing_layout.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;
using testing::f32;
using testing::kConv;
using testing::Prepared;

StringRef as_ref(const std::string& text) { return {text.data(), text.size()}; }

// 8 output channels in blocks of 4, whose 3 input channels are filled up to 4 in blocks of 2:
// [O/4][I/2][kh][kw][4 of O][2 of I]
WeightLayout blocked() {
  WeightLayout l;
  l.dims = 4;
  const int64_t size[] = {8, 3, 2, 1}, from[] = {6, 2, 1, 1}, stride[] = {32, 16, 8, 8};
  for (int d = 0; d < 4; ++d) {
    l.size[d] = size[d];
    l.from[d] = from[d];
    l.stride[d] = stride[d];
  }
  l.blocks = 2;
  l.block[0] = 4;
  l.block[1] = 2;
  l.block_dim[0] = 0;
  l.block_dim[1] = 1;
  return l;
}

constexpr const char* kBlocked =
    "onednn 9.9.9 sse9 [8,3,2,1] dims [8,3,2,1] from [6,2,1,1] strides [32,16,8,8] blocks [4,2] of [0,1]";

TEST(Packing, ALayoutPutsEachElementWhereItSays) {
  const WeightLayout l = blocked();
  EXPECT_EQ(l.numel(), 48);
  EXPECT_EQ(l.packed_numel(), 64);
  std::vector<float> dense(48), packed(64, -1), back(48);
  std::iota(dense.begin(), dense.end(), 1.0f);
  pack(l, dense.data(), packed.data());
  // Output channel 5, input channel 2, row 1: the second block of outputs, the second of inputs, row 1, positions 1 and
  // 0.
  EXPECT_EQ(packed[32 + 16 + 8 + 1 * 2 + 0], dense[5 * 6 + 2 * 2 + 1]);
  // The input channel that is not there.
  EXPECT_EQ(packed[32 + 16 + 8 + 1 * 2 + 1], 0);
  unpack(l, packed.data(), back.data());
  EXPECT_EQ(back, dense);
}

TEST(Packing, TextRoundTripsALayout) {
  DenseSizes dense;
  WeightLayout l;
  ASSERT_TRUE(read_packing(as_ref(kBlocked), &dense, &l));
  EXPECT_TRUE(same_layout(l, blocked()));
  EXPECT_EQ(dense.rank, 4);
  EXPECT_EQ(packing_text("onednn 9.9.9 sse9", dense, l), kBlocked);
}

TEST(Packing, TextRoundTripsWhatIsDerived) {
  const std::string text = std::string(kBlocked) + " then winograd4 [147456]";
  DenseSizes dense;
  WeightLayout l;
  ASSERT_TRUE(read_packing(as_ref(text), &dense, &l));
  EXPECT_EQ(l.derived, Derived::kWinograd4);
  EXPECT_EQ(l.derived_offset() % 16, 0);
  EXPECT_GE(l.derived_offset(), l.packed_numel());
  EXPECT_EQ(l.all_numel(), l.derived_offset() + 147456);
  EXPECT_TRUE(same_layout(l, blocked()));
  EXPECT_FALSE(same_derived(l, blocked()));
  EXPECT_FALSE(same_derived(blocked(), blocked()));
  EXPECT_EQ(packing_text("onednn 9.9.9 sse9", dense, l), text);
}

TEST(Packing, HostileTextIsRefused) {
  const char* const texts[] = {
      "a [8] dims [8] from [1] strides [1] blocks [] of [] then winograd4 [0]",
      "a [8] dims [8] from [1] strides [1] blocks [] of [] then winograd4 [-1]",
      "a [8] dims [8] from [1] strides [1] blocks [] of [] then winograd4 [1,2]",
      "a [8] dims [8] from [1] strides [1] blocks [] of [] then winograd4 []",
      "a [8] dims [8] from [1] strides [1] blocks [] of [] then winograd4 [9] ",
      "a [8] dims [8] from [1] strides [1] blocks [] of [] then winograd4 [99999999999999999999999999]",
      "a [8] dims [8] from [1] strides [1] blocks [] of [] then winograd3 [9]",
      "a [8] dims [8] from [1] strides [1] blocks [] of [] then ",
      "",
      "x",
      "[",
      "[8,3,2,1]",
      "a [8,3,2,1] dims [8,3,2,1] from [6,2,1,1] strides [32,16,8,8] blocks [4,2] of [0]",
      "a [8,3,2,1] dims [8,3,2,1] from [6,2,1,1] strides [32,16,8,8] blocks [4,2] of [0,4]",
      "a [8,3,2,1] dims [8,3,2,1] from [6,2,1,1] strides [32,16,8] blocks [4,2] of [0,1]",
      "a [8,3,2,1] dims [8,3,2,1] from [6,2,1,1] strides [32,16,8,8] blocks [4,2] of [0,1] ",
      "a [8,3,2,1] dims [8,3,2,1] from [6,2,2,1] strides [32,16,8,8] blocks [4,2] of [0,1]",
      "a [8,3,2,1] dims [8,3,2,1] from [6,2,0,1] strides [32,16,8,8] blocks [4,2] of [0,1]",
      "a [8,3,2,1] dims [8,3,2,1] from [6,2,1,1] strides [32,16,4,8] blocks [4,2] of [0,1]",
      "a [8,3,2,1] dims [8,3,2,1] from [6,2,1,1] strides [32,16,0,8] blocks [4,2] of [0,1]",
      "a [8,3,2,1] dims [8,3,2,1] from [6,2,1,1] strides [32,16,8,8] blocks [0,2] of [0,1]",
      "a [8,3,2,1] dims [8,3,2,1] from [6,2,1,1] strides [-32,16,8,8] blocks [4,2] of [0,1]",
      "a [8,3,2,1] dims [8,3,2,2] from [6,2,1,1] strides [32,16,8,8] blocks [4,2] of [0,1]",
      "a [8,3,2,0] dims [8,3,2,0] from [6,2,1,1] strides [32,16,8,8] blocks [4,2] of [0,1]",
      "a [2147483647,2147483647] dims [2147483647,2147483647] from [2147483647,1] strides [2147483647,1] blocks [] of "
      "[]",
      "a [8] dims [8] from [1] strides [99999999999999999999999999] blocks [] of []",
      "a [8] dims [8] from [1] strides [1099511627776] blocks [] of []",
      "a [1,1,1,1,1,1,1,1] dims [1] from [1] strides [1] blocks [] of []",
      "a [1] dims [1,1,1,1,1,1,1,1] from [1] strides [1] blocks [] of []",
  };
  for (const char* text : texts) {
    DenseSizes dense;
    WeightLayout l;
    EXPECT_FALSE(read_packing(as_ref(text), &dense, &l)) << text;
  }
}

// A small convolution; its packing and the elements of its weight as it is packed.
struct PackingCase {
  Array input = f32({1, 3, 4, 4});
  Array dense = f32({8, 3, 2, 1});
  Array expected = f32({1, 8, 3, 4});
  Array out = f32({1, 8, 3, 4});

  PackingCase() {
    std::vector<double> in(48), weight(48);
    for (size_t i = 0; i < 48; ++i) {
      in[i] = static_cast<double>(i % 7) - 3;
      weight[i] = static_cast<double>(i % 5) - 2;
    }
    input.set(in);
    dense.set(weight);
    EXPECT_EQ(testing::run(portable::fused_conv_out, args(dense, "", expected), 1 << 22), Error::kOk);
  }

  std::vector<Arg> args(const Array& weight, const char* packing, const Array& result) const {
    const std::vector<int64_t> one = {1, 1}, none = {0, 0};
    return {input, weight, nullptr, nullptr, one, none, one, false, none, 1, "relu", 0.0, 0.0, packing, result};
  }

  Array packed(const WeightLayout& layout) const {
    Array result = f32({static_cast<int32_t>(layout.packed_numel())});
    pack(layout, dense.tensor().data<float>(), result.tensor().data<float>());
    return result;
  }
};

TEST(Packing, WeightsOfAnotherVersionStillRunRight) {
  const PackingCase c;
  Prepared call(kConv, c.args(c.packed(blocked()), kBlocked, c.out));
  ASSERT_EQ(call.error(), Error::kOk) << call.message();
  ASSERT_EQ(call.run(), Error::kOk) << call.message();
  EXPECT_EQ(c.out.values(), c.expected.values());
}

// Sizes that change: the portable kernel runs it, on a weight that was unpacked.
TEST(Packing, WeightsAreUnpackedForThePortableKernel) {
  PackingCase c;
  const Array input(DType::kF32, {1, 3, 4, 4}, c.input.values(), {}, ShapeDynamism::kBounded);
  c.input = input;
  Prepared call(kConv, c.args(c.packed(blocked()), kBlocked, c.out));
  ASSERT_EQ(call.error(), Error::kOk) << call.message();
  EXPECT_STREQ(conv_engine(call.state()), "portable");
  ASSERT_EQ(call.run(), Error::kOk) << call.message();
  EXPECT_EQ(c.out.values(), c.expected.values());
}

TEST(Packing, APackingThatDoesNotFitItsWeightIsRefused) {
  const PackingCase c;
  const Array small = f32({63}, std::vector<double>(63));
  EXPECT_EQ(Prepared(kConv, c.args(small, kBlocked, c.out)).error(), Error::kInvalidProgram);
  EXPECT_EQ(Prepared(kConv, c.args(c.packed(blocked()), "what is this", c.out)).error(), Error::kInvalidProgram);
  // A packed weight that other instructions compute: nothing says that it stays as it is.
  EXPECT_EQ(Prepared(kConv, c.args(c.packed(blocked()), kBlocked, c.out), 1, {}).error(), Error::kInvalidProgram);
  // Not prepared, so it was not unpacked.
  KernelContext context({}, nullptr);
  std::vector<Arg> args = c.args(c.packed(blocked()), kBlocked, c.out);
  std::vector<EValue*> values;
  for (Arg& arg : args) values.push_back(arg.value());
  EXPECT_EQ(conv_out(context, arguments::fused_conv_out({values.data(), values.size()})), Error::kNotSupported);
}

TEST(Packing, GenericTargetsPackNothing) {
  const std::vector<float> weight(64 * 64);
  ConvToPack conv;
  conv.in_channels = conv.out_channels = 64;
  conv.in[0] = conv.in[1] = 28;
  LinearToPack linear;
  linear.depth = linear.columns = 64;
  PackedWeight packed;
  EXPECT_FALSE(pack_conv(conv, weight.data(), "generic", &packed));
  EXPECT_FALSE(pack_linear(linear, weight.data(), "generic", &packed));
  EXPECT_FALSE(pack_conv(conv, weight.data(), "pdp11", &packed));
}

// What is packed is what the same call asks for at load: nothing is repacked, so the state holds no copy of it.
TEST(Packing, PacksWhatTheSameCallAsksForAtLoad) {
  struct Sizes {
    int64_t in, out, groups, kernel, stride;
  };
  int seen = 0;
  for (const Sizes& s : {Sizes{64, 64, 1, 1, 1}, Sizes{64, 256, 1, 1, 1}, Sizes{64, 64, 1, 3, 1}, Sizes{3, 64, 1, 7, 2},
                         Sizes{128, 128, 128, 3, 1}, Sizes{96, 24, 1, 1, 1}, Sizes{58, 58, 58, 3, 2}}) {
    ConvToPack conv;
    conv.in_channels = s.in;
    conv.out_channels = s.out;
    conv.groups = s.groups;
    for (int i = 0; i < 2; ++i) {
      conv.in[i] = 28;
      conv.kernel[i] = s.kernel;
      conv.stride[i] = s.stride;
      conv.padding[i] = s.kernel / 2;
    }
    conv.activation = "relu";
    const int64_t count = s.out * (s.in / s.groups) * s.kernel * s.kernel;
    std::vector<float> weight(count);
    for (size_t i = 0; i < weight.size(); ++i) weight[i] = static_cast<float>(i);
    PackedWeight packed;
    if (!pack_conv(conv, weight.data(), "native", &packed)) continue;
    ++seen;
    DenseSizes dense;
    WeightLayout layout;
    ASSERT_TRUE(read_packing(as_ref(packed.text), &dense, &layout)) << packed.text;
    ASSERT_EQ(layout.all_numel() * sizeof(float), packed.bytes.size());
    std::vector<float> back(weight.size());
    unpack(layout, reinterpret_cast<const float*>(packed.bytes.data()), back.data());
    EXPECT_EQ(back, weight) << packed.text;

    const std::vector<uint8_t> last = {0, 2, 3, 1};
    const auto out_size = static_cast<int32_t>((28 + 2 * conv.padding[0] - s.kernel) / s.stride + 1);
    const Array input(DType::kF32, {1, static_cast<int32_t>(s.in), 28, 28}, {}, last);
    const Array out(DType::kF32, {1, static_cast<int32_t>(s.out), out_size, out_size}, {}, last);
    const Array given = f32({static_cast<int32_t>(packed.bytes.size() / sizeof(float))});
    const std::vector<int64_t> strides(2, s.stride), padding(2, conv.padding[0]), one = {1, 1}, none = {0, 0};
    Prepared call(kConv,
                  {input, given, nullptr, nullptr, strides, padding, one, false, none, s.groups, "relu", 0.0, 0.0,
                   packed.text.c_str(), out},
                  2);
    ASSERT_EQ(call.error(), Error::kOk) << call.message();
    EXPECT_TRUE(conv_uses_weight_in_place(call.state())) << packed.text;
  }
  RecordProperty("packed", seen);
}

// No rows, no pixels: there is nothing to cut into tiles.
// A convolution that an engine computes on a weight that it transforms.
struct Transformed {
  PackedWeight packed;
  WeightLayout layout;
  std::vector<float> weight = std::vector<float>(64 * 64 * 9);
  Array input{DType::kF32, {1, 64, 28, 28}, {}, {0, 2, 3, 1}};
  Array out{DType::kF32, {1, 64, 28, 28}, {}, {0, 2, 3, 1}};

  // Whether this machine has such an engine.
  bool make() {
    ConvToPack conv;
    conv.in_channels = conv.out_channels = 64;
    for (int i = 0; i < 2; ++i) {
      conv.in[i] = 28;
      conv.kernel[i] = 3;
      conv.padding[i] = 1;
    }
    for (size_t i = 0; i < weight.size(); ++i) weight[i] = static_cast<float>(i % 13) - 6;
    std::vector<double> pixels(64 * 28 * 28);
    for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<double>(i % 7) - 3;
    input.set(pixels);
    DenseSizes dense;
    return pack_conv(conv, weight.data(), "native", &packed) && read_packing(as_ref(packed.text), &dense, &layout) &&
           layout.derived != Derived::kNothing;
  }

  std::vector<double> run(const std::string& text) {
    std::vector<double> elements(packed.bytes.size() / sizeof(float));
    for (size_t i = 0; i < elements.size(); ++i) {
      elements[i] = static_cast<double>(reinterpret_cast<const float*>(packed.bytes.data())[i]);
    }
    const Array given = f32({static_cast<int32_t>(elements.size())}, elements);
    const std::vector<int64_t> one = {1, 1}, none = {0, 0};
    Prepared call(
        kConv, {input, given, nullptr, nullptr, one, one, one, false, none, 1, "none", 0.0, 0.0, text.c_str(), out}, 2);
    EXPECT_EQ(call.error(), Error::kOk) << call.message();
    EXPECT_EQ(call.run(), Error::kOk) << call.message();
    EXPECT_TRUE(conv_uses_weight_in_place(call.state()));
    return out.values();
  }
};

TEST(Packing, WhatAnEngineDerivesIsReadFromTheFile) {
  Transformed c;
  if (!c.make()) GTEST_SKIP() << "no engine of this machine transforms the weight";
  const std::vector<double> with = c.run(c.packed.text);
  // Without the words the engine derives it itself, to the same bits.
  EXPECT_EQ(c.run(c.packed.text.substr(0, c.packed.text.find(" then "))), with);
  auto* const floats = reinterpret_cast<float*>(c.packed.bytes.data());
  std::fill(floats + c.layout.derived_offset(), floats + c.layout.all_numel(), 0.f);
  EXPECT_EQ(c.run(c.packed.text), std::vector<double>(with.size(), 0)) << "it was computed again";
}

TEST(Packing, LessThanItsTextDerivesIsRefused) {
  Transformed c;
  if (!c.make()) GTEST_SKIP() << "no engine of this machine transforms the weight";
  const Array given = f32({static_cast<int32_t>(c.layout.all_numel() - 1)});
  const std::vector<int64_t> one = {1, 1}, none = {0, 0};
  Prepared call(kConv, {c.input, given, nullptr, nullptr, one, one, one, false, none, 1, "none", 0.0, 0.0,
                        c.packed.text.c_str(), c.out});
  EXPECT_EQ(call.error(), Error::kInvalidProgram);
}

TEST(Packing, WeightsOfEmptyCallsStayUnpacked) {
  const std::vector<float> weight(64, 1.0f);
  PackedWeight packed;
  LinearToPack linear;
  linear.rows = 0;
  linear.depth = 8;
  linear.columns = 8;
  linear.activation = "none";
  EXPECT_FALSE(pack_linear(linear, weight.data(), "native", &packed));
  ConvToPack conv;
  conv.batch = 0;
  conv.in_channels = 4;
  conv.out_channels = 4;
  conv.in[0] = conv.in[1] = 6;
  conv.kernel[0] = conv.kernel[1] = 2;
  conv.activation = "none";
  EXPECT_FALSE(pack_conv(conv, weight.data(), "native", &packed));
  conv.batch = 1;
  EXPECT_TRUE(pack_conv(conv, weight.data(), "native", &packed));
}

}  // namespace
}  // namespace berth::cpu
