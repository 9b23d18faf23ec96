// Convolutions to a few channels against the portable kernel, on every instruction set. The fears: a strip that sees
// what another one copied, a row that is copied over while it is still needed, columns between strides that change
// places, a channel that gets another's bias.
#include "kernels/cpu/last_conv.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/engine_testing.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;

using LastConv = EngineTest;

struct LastShape {
  int64_t batch, depth, columns, in[2], kernel[2], stride[2], padding[2], dilation[2];
};

int64_t window(const LastShape& s, int i) { return (s.kernel[i] - 1) * s.dilation[i] + 1; }

int32_t out_size(const LastShape& s, int i) {
  return static_cast<int32_t>((s.in[i] + 2 * s.padding[i] - window(s, i)) / s.stride[i] + 1);
}

// Counts in `*runs` how often it is this engine that runs. Infinities and NaNs in the input where `special`, an
// infinity in the weight where `odd_weight`.
void expect_same(const LastShape& s, const char* activation, bool bias, bool residual, bool special,
                 std::mt19937& random, int* runs, bool odd_weight = false) {
  const std::vector<uint8_t> last = {0, 2, 3, 1};
  const Array input = random_array(random, narrow({s.batch, s.depth, s.in[0], s.in[1]}), last, special);
  const Array weight = random_array(random, narrow({s.columns, s.depth, s.kernel[0], s.kernel[1]}));
  if (odd_weight) weight.tensor().data<float>()[random() % weight.tensor().numel()] = INFINITY;
  const Arg offsets = bias ? Arg(random_array(random, narrow({s.columns}))) : Arg(nullptr);
  const std::vector<int32_t> sizes = {static_cast<int32_t>(s.batch), static_cast<int32_t>(s.columns), out_size(s, 0),
                                      out_size(s, 1)};
  const Arg added = residual ? Arg(random_array(random, sizes, last)) : Arg(nullptr);
  const std::vector<int64_t> stride(s.stride, s.stride + 2), padding(s.padding, s.padding + 2),
      dilation(s.dilation, s.dilation + 2), none = {0, 0};
  const auto args = [&](const Array& out) -> std::vector<Arg> {
    return {input, weight, offsets, added, stride, padding, dilation, false, none, 1, activation, -0.5, 0.75, "", out};
  };
  SCOPED_TRACE(activation);
  const Array expected(DType::kF32, sizes, {}, last);
  *runs += expect_engine_is_portable("head", args, expected, 2e-4);
}

// Large enough for several strips a row, several bands, and threads to share.
TEST_F(LastConv, LayersOfWellKnownNetworksMatchThePortableKernels) {
  std::mt19937 random(1);
  const LastShape shapes[] = {
      {1, 16, 1, {40, 70}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},   // a mask
      {1, 8, 3, {33, 130}, {9, 9}, {1, 1}, {4, 4}, {1, 1}},   // three colours
      {2, 12, 4, {24, 97}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},   // of which pixels are shuffled into a larger image
      {1, 1, 1, {1, 1000}, {1, 64}, {1, 2}, {0, 0}, {1, 1}},  // half the samples of a sound
      {1, 8, 4, {60, 88}, {3, 39}, {1, 1}, {1, 19}, {1, 1}},  // a window of harmonics
      {1, 24, 2, {30, 64}, {3, 3}, {1, 1}, {2, 2}, {2, 2}},
  };
  for (const LastShape& s : shapes) {
    SCOPED_TRACE(std::to_string(s.depth) + " channels to " + std::to_string(s.columns));
    int runs = 0;
    expect_same(s, "relu", true, false, false, random, &runs);
    expect_same(s, "sigmoid", false, true, false, random, &runs);
    EXPECT_GT(runs, 0);
    if (::testing::Test::HasFatalFailure()) break;
  }
}

// Windows, strides and gaps of all sizes, padding wider than the image.
TEST_F(LastConv, EveryWindowMatchesThePortableKernels) {
  int runs = 0;
  for (int turn = 0; turn < 200 && !::testing::Test::HasFatalFailure(); ++turn) {
    SCOPED_TRACE(turn);
    LastShape s = {whole(1, 2), whole(1, 9), whole(1, 8), {}, {}, {}, {}, {}};
    for (int i = 0; i < 2; ++i) {
      s.kernel[i] = whole(1, 5);
      s.stride[i] = whole(1, 3);
      s.dilation[i] = whole(1, 3);
      s.padding[i] = whole(0, window(s, i) + 1);
      s.in[i] = std::max(whole(1, i == 0 ? 20 : 250), window(s, i) - 2 * s.padding[i]);
    }
    // What padding holds, times infinity, is NaN at every border.
    const bool special = whole(0, 3) == 0, odd_weight = whole(0, 7) == 0;
    expect_same(s, any_activation(random_), truth(), truth(), special, random_, &runs, odd_weight);
  }
  // Registers of 8 numbers pay for fewer of them than those of 16.
  EXPECT_GT(runs, 20);
}

// Sizes as a hostile file may have them, whose products do not fit 64 bits.
TEST_F(LastConv, WindowsThatCannotBeCountedAreRefused) {
  ConvSpec spec;
  for (const int64_t depth : {int64_t{1} << 26, int64_t{23726566}, int64_t{1} << 28}) {
    for (const int64_t apart : {int64_t{1} << 15, int64_t{1} << 16}) {
      spec.in_channels = depth;
      spec.kernel[0] = 2;
      spec.in[0] = spec.in[1] = 1;
      spec.padding[0] = spec.padding[1] = int64_t{1} << 16;
      spec.dilation[0] = (int64_t{1} << 16) - 1;
      spec.stride[0] = apart;
      spec.stride[1] = int64_t{1} << 16;
      spec.out[0] = 3;
      spec.out[1] = 2;
      EXPECT_EQ(last_conv_kind(spec, 4), nullptr);
    }
  }
}

}  // namespace
}  // namespace berth::cpu
