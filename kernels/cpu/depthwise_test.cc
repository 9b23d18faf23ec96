// Depthwise convolutions against the portable kernel, on every instruction set. The fears: a border, a last row or a
// last channel that is computed from something else; a NaN or an infinity that is lost, or made where none belongs.

#include "kernels/cpu/depthwise.h"

#include <gtest/gtest.h>

#include "kernels/cpu/engine_testing.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;

struct Shape {
  int64_t batch, channels, in[2], kernel[2], stride[2], padding[2], dilation[2];
};

int64_t out_size(const Shape& s, int i) {
  return (s.in[i] + 2 * s.padding[i] - (s.kernel[i] - 1) * s.dilation[i] - 1) / s.stride[i] + 1;
}

// The portable kernel's result and ours, of random numbers; infinities and NaNs in the input where `special`.
void expect_same(const Shape& s, const char* activation, bool bias, bool residual, bool special, std::mt19937& random) {
  const std::vector<uint8_t> last = {0, 2, 3, 1};
  const Array input = random_array(random, narrow({s.batch, s.channels, s.in[0], s.in[1]}), last, special);
  const Array weight = random_array(random, narrow({s.channels, 1, s.kernel[0], s.kernel[1]}));
  const Arg offsets = bias ? Arg(random_array(random, narrow({s.channels}))) : Arg(nullptr);
  const Array before = random_array(random, narrow({s.batch, s.channels, out_size(s, 0), out_size(s, 1)}), last);
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
            s.channels,
            activation,
            -0.5,
            0.75,
            "",
            out};
  };
  SCOPED_TRACE(activation);
  const Array expected = array_like(before);
  EXPECT_EQ(expect_engine_is_portable("depthwise", args, expected, 2e-5), all_runs());
}

// Large enough for several strips and tiles, and for threads to share.
TEST(Depthwise, LayersOfWellKnownNetworksMatchThePortableKernels) {
  std::mt19937 random(1);
  set_preferred_engine(Prefer::kTiles);
  const Shape shapes[] = {
      {1, 64, {25, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},   {1, 32, {56, 56}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
      {1, 96, {28, 28}, {5, 5}, {2, 2}, {2, 2}, {1, 1}},  {1, 58, {28, 28}, {3, 3}, {2, 2}, {1, 1}, {1, 1}},
      {2, 120, {14, 14}, {5, 5}, {1, 1}, {2, 2}, {1, 1}}, {1, 232, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
      {1, 20, {30, 31}, {7, 7}, {1, 1}, {3, 3}, {1, 1}},  {1, 40, {33, 20}, {3, 3}, {1, 1}, {2, 2}, {2, 2}},
  };
  for (const Shape& s : shapes) {
    SCOPED_TRACE(std::to_string(s.channels) + " channels of " + std::to_string(s.in[0]));
    expect_same(s, "relu", true, false, false, random);
    expect_same(s, "hard_swish", false, true, false, random);
    if (::testing::Test::HasFatalFailure()) break;
  }
  set_preferred_engine(Prefer::kFaster);
}

// Windows of all sizes, strides and gaps; padding wider than the image; images of one row; channels that fill no
// register.
TEST(Depthwise, EveryWindowMatchesThePortableKernels) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  std::mt19937 random(seed.value);
  const auto whole = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  set_preferred_engine(Prefer::kTiles);
  for (int turn = 0; turn < 300 && !::testing::Test::HasFatalFailure(); ++turn) {
    SCOPED_TRACE(turn);
    Shape s = {whole(1, 2), whole(2, 40), {}, {}, {}, {}, {}};
    const bool square = turn % 2 == 0;
    const int64_t size = 3 + 2 * (turn / 2 % 2), stride = whole(1, 2);
    for (int i = 0; i < 2; ++i) {
      s.kernel[i] = square ? size : whole(1, 6);
      s.stride[i] = square ? stride : whole(1, 3);
      s.dilation[i] = square ? 1 : whole(1, 2);
      s.padding[i] = square ? whole(0, 2) : whole(0, s.kernel[i] * s.dilation[i]);
      const int64_t reach = (s.kernel[i] - 1) * s.dilation[i] + 1;
      s.in[i] = whole(1, 18);
      s.in[i] = std::max(s.in[i], reach - 2 * s.padding[i]);
    }
    const bool special = whole(0, 3) == 0;
    expect_same(s, any_activation(random), whole(0, 1) == 0, whole(0, 1) == 0, special, random);
  }
  set_preferred_engine(Prefer::kFaster);
}

}  // namespace
}  // namespace berth::cpu
