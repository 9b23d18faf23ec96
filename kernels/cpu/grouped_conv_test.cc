// Convolutions of groups of few channels against the portable kernel, on every instruction set. The fears: a border, a
// last row or a last channel that is computed from something else; a channel of another group; a NaN or an infinity
// that is lost, or made where none belongs.

#include "kernels/cpu/grouped_conv.h"

#include <gtest/gtest.h>

#include "kernels/cpu/engine_testing.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;

using GroupedConv = EngineTest;

struct GroupedShape {
  int64_t batch, groups, in[2], kernel[2], stride[2], padding[2], dilation[2];
  int64_t depth = 1, columns = 1;  // channels in and out, of a group

  bool is_depthwise() const { return depth == 1 && columns == 1; }
};

int64_t out_size(const GroupedShape& s, int i) {
  return (s.in[i] + 2 * s.padding[i] - (s.kernel[i] - 1) * s.dilation[i] - 1) / s.stride[i] + 1;
}

// The portable kernel's result and ours, of random numbers; infinities and NaNs in the input where `special`, an
// infinity in the weight where `odd_weight`. Returns how many runs there were.
int expect_same(const GroupedShape& s, const char* activation, bool bias, bool residual, bool special,
                std::mt19937& random, bool odd_weight = false) {
  const int64_t channels = s.groups * s.columns;
  const std::vector<uint8_t> last = {0, 2, 3, 1};
  const Array input = random_array(random, narrow({s.batch, s.groups * s.depth, s.in[0], s.in[1]}), last, special);
  const Array weight = random_array(random, narrow({channels, s.depth, s.kernel[0], s.kernel[1]}));
  if (odd_weight) weight.tensor().data<float>()[random() % weight.tensor().numel()] = INFINITY;
  const Arg offsets = bias ? Arg(random_array(random, narrow({channels}))) : Arg(nullptr);
  const Array before = random_array(random, narrow({s.batch, channels, out_size(s, 0), out_size(s, 1)}), last);
  const std::vector<int64_t> stride(s.stride, s.stride + 2), padding(s.padding, s.padding + 2),
      dilation(s.dilation, s.dilation + 2);
  const auto args = [&](const Array& out) -> std::vector<Arg> {
    return {input,
            weight,
            offsets,
            residual ? Arg(before) : Arg(nullptr),
            stride,
            padding,
            dilation,
            false,
            std::vector<int64_t>{0, 0},
            s.groups,
            activation,
            -0.5,
            0.75,
            "",
            out};
  };
  SCOPED_TRACE(activation);
  const Array expected = array_like(before);
  const int runs = expect_engine_is_portable(s.is_depthwise() ? "depthwise" : "groups", args, expected,
                                             s.is_depthwise() ? 2e-5 : 1e-4);
  if (s.is_depthwise()) {
    EXPECT_EQ(runs, all_runs());
  }
  return runs;
}

// Large enough for several strips and tiles, and for threads to share.
TEST_F(GroupedConv, DepthwiseLayersOfWellKnownNetworksMatchThePortableKernels) {
  std::mt19937 random(1);
  const GroupedShape shapes[] = {
      {1, 64, {25, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},   {1, 32, {56, 56}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
      {1, 96, {28, 28}, {5, 5}, {2, 2}, {2, 2}, {1, 1}},  {1, 58, {28, 28}, {3, 3}, {2, 2}, {1, 1}, {1, 1}},
      {2, 120, {14, 14}, {5, 5}, {1, 1}, {2, 2}, {1, 1}}, {1, 232, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
      {1, 20, {30, 31}, {7, 7}, {1, 1}, {3, 3}, {1, 1}},  {1, 40, {33, 20}, {3, 3}, {1, 1}, {2, 2}, {2, 2}},
      {1, 48, {16, 16}, {9, 9}, {1, 1}, {4, 4}, {1, 1}},  {1, 24, {1, 60}, {1, 31}, {1, 1}, {0, 15}, {1, 1}},
  };
  for (const GroupedShape& s : shapes) {
    SCOPED_TRACE(std::to_string(s.groups) + " channels of " + std::to_string(s.in[0]));
    expect_same(s, "relu", true, false, false, random);
    expect_same(s, "hard_swish", false, true, false, random);
    if (::testing::Test::HasFatalFailure()) break;
  }
}

// Windows of all sizes, strides and gaps; padding wider than the image; images of one row; channels that fill no
// register.
TEST_F(GroupedConv, EveryDepthwiseWindowMatchesThePortableKernels) {
  for (int turn = 0; turn < 300 && !::testing::Test::HasFatalFailure(); ++turn) {
    SCOPED_TRACE(turn);
    GroupedShape s = {whole(1, 2), whole(2, 40), {}, {}, {}, {}, {}};
    const bool square = turn % 2 == 0;
    const int64_t size = 3 + 2 * (turn / 2 % 2), stride = whole(1, 2);
    for (int i = 0; i < 2; ++i) {
      s.kernel[i] = square ? size : whole(1, turn % 8 == 1 ? 11 : 6);
      s.stride[i] = square ? stride : whole(1, 3);
      s.dilation[i] = square ? 1 : whole(1, 2);
      s.padding[i] = square ? whole(0, 2) : whole(0, s.kernel[i] * s.dilation[i]);
      const int64_t reach = (s.kernel[i] - 1) * s.dilation[i] + 1;
      s.in[i] = whole(1, 18);
      s.in[i] = std::max(s.in[i], reach - 2 * s.padding[i]);
    }
    const bool special = whole(0, 3) == 0;
    expect_same(s, any_activation(random_), truth(), truth(), special, random_);
  }
}

// A layer each of ResNeXt, RegNet, and networks that widen each channel; of several groups in a register, of one that
// fills it, and of a last register that they do not fill.
TEST_F(GroupedConv, GroupsOfWellKnownNetworksMatchThePortableKernels) {
  std::mt19937 random(2);
  const GroupedShape shapes[] = {
      {1, 32, {28, 28}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 4, 4},
      {1, 32, {28, 28}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, 8, 8},
      {1, 55, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 8, 8},
      {2, 13, {14, 15}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, 8, 8},
      {1, 6, {20, 19}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 16, 16},
      {1, 9, {13, 21}, {5, 5}, {1, 1}, {2, 2}, {1, 1}, 4, 4},
      {1, 40, {9, 17}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 1, 2},
      {1, 24, {12, 12}, {1, 1}, {1, 1}, {0, 0}, {1, 1}, 8, 4},
      {1, 32, {1, 70}, {1, 3}, {1, 1}, {0, 4}, {1, 4}, 4, 4},
      {1, 8, {10, 33}, {3, 3}, {1, 1}, {2, 2}, {2, 2}, 16, 16},
  };
  for (const GroupedShape& s : shapes) {
    SCOPED_TRACE(std::to_string(s.groups) + " groups of " + std::to_string(s.depth) + " to " +
                 std::to_string(s.columns));
    EXPECT_GT(expect_same(s, "relu", true, false, false, random), 0);
    EXPECT_GT(expect_same(s, "silu", true, true, false, random), 0);
    if (::testing::Test::HasFatalFailure()) break;
  }
}

// oneDNN, opened for groups alone, took more time and memory than all else that a RegNet does at its first run.
TEST_F(GroupedConv, GroupsOfManyPixelsOpenNoOtherLibrary) {
  ConvSpec spec;
  spec.groups = 32;
  spec.in_channels = spec.out_channels = 128;
  for (int i = 0; i < 2; ++i) {
    spec.in[i] = spec.out[i] = 112;
    spec.kernel[i] = 3;
    spec.padding[i] = 1;
  }
  const int64_t strides[4] = {0, 1, 112 * 128, 128};
  for (int i = 0; i < 4; ++i) spec.in_stride[i] = spec.out_stride[i] = strides[i];
  const auto kind = choose_engine(spec, 1);
  ASSERT_NE(kind, nullptr);
  if (grouped_functions().lanes < 8) GTEST_SKIP() << "narrow registers";
  EXPECT_STREQ(kind->make()->name(), "groups");
}

// Groups of all widths, of which some are for tiles on some instruction sets.
TEST_F(GroupedConv, EveryGroupMatchesThePortableKernels) {
  int runs = 0;
  for (int turn = 0; turn < 150 && !::testing::Test::HasFatalFailure(); ++turn) {
    SCOPED_TRACE(turn);
    GroupedShape s = {whole(1, 2), whole(2, 12), {}, {}, {}, {}, {}, whole(1, 18), whole(1, 18)};
    if (turn % 2 == 0) s.depth = s.columns = int64_t{1} << whole(1, 4);
    for (int i = 0; i < 2; ++i) {
      s.kernel[i] = whole(1, 4);
      s.stride[i] = whole(1, 3);
      s.dilation[i] = whole(1, 2);
      s.padding[i] = whole(0, s.kernel[i] * s.dilation[i]);
      s.in[i] = std::max(whole(1, 24), (s.kernel[i] - 1) * s.dilation[i] + 1 - 2 * s.padding[i]);
    }
    const bool special = whole(0, 3) == 0;
    runs += expect_same(s, any_activation(random_), truth(), truth(), special, random_);
  }
  EXPECT_GT(runs, 150);
}

// What padding holds, times infinity, is NaN at every border, or at none: not at the left and the right alone.
TEST_F(GroupedConv, AnInfiniteWeightIsTheSameAtEveryBorder) {
  int runs = 0;
  for (int turn = 0; turn < 60 && !::testing::Test::HasFatalFailure(); ++turn) {
    SCOPED_TRACE(turn);
    const int64_t width = turn % 3 == 0 ? 1 : int64_t{1} << whole(1, 4);
    GroupedShape s = {1, whole(2, 12), {}, {}, {}, {}, {}, width, width};
    for (int i = 0; i < 2; ++i) {
      s.kernel[i] = 3;
      s.stride[i] = whole(1, 2);
      s.dilation[i] = whole(1, 2);
      s.padding[i] = whole(0, 3);
      s.in[i] = whole(5, 16);
    }
    runs += expect_same(s, "none", true, false, false, random_, true);
  }
  EXPECT_GT(runs, 60);
}

}  // namespace
}  // namespace berth::cpu
