// Depthwise convolutions against the portable kernel, on every instruction set. The fears: a border, a last row or a
// last channel that is computed from something else; a NaN or an infinity that is lost, or made where none belongs.

#include "kernels/cpu/depthwise.h"

#include <gtest/gtest.h>

#include "kernels/cpu/compare_testing.h"
#include "kernels/cpu/conv.h"
#include "kernels/cpu/conv_testing.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;
using testing::Prepared;

struct Shape {
  int64_t batch, channels, in[2], kernel[2], stride[2], padding[2], dilation[2];
};

int64_t out_size(const Shape& s, int i) {
  return (s.in[i] + 2 * s.padding[i] - (s.kernel[i] - 1) * s.dilation[i] - 1) / s.stride[i] + 1;
}

std::vector<int32_t> narrow(std::initializer_list<int64_t> sizes) { return {sizes.begin(), sizes.end()}; }

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
  const Array expected = array_like(before);
  ASSERT_EQ(testing::run(portable::fused_conv_out, args(expected), 4 << 20), Error::kOk);
  for_each_simd_target([&](const char* target) {
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(std::string(target) + " on " + std::to_string(threads) + " threads, " + activation);
      const Array out = array_like(before);
      Prepared call({conv_out, conv_temp_bytes, conv_prepare, conv_release}, args(out), threads);
      ASSERT_EQ(call.error(), Error::kOk) << call.message();
      ASSERT_STREQ(conv_engine(call.state()), "depthwise");
      for (int turn = 0; turn < 2; ++turn) {
        ASSERT_EQ(call.run(), Error::kOk) << call.message();
        expect_close(expected, out, 2e-5);
      }
    }
  });
}

constexpr const char* kActivations[] = {"none", "relu",         "clamp",      "leaky_relu", "sigmoid",   "tanh",
                                        "silu", "hard_sigmoid", "hard_swish", "gelu",       "gelu_tanh", "elu"};

// Large enough for several strips and tiles, and for threads to share.
TEST(Depthwise, LayersOfWellKnownNetworksAreThePortableKernels) {
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
TEST(Depthwise, EveryWindowIsThePortableKernels) {
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
    expect_same(s, kActivations[whole(0, 11)], whole(0, 1) == 0, whole(0, 1) == 0, special, random);
  }
  set_preferred_engine(Prefer::kFaster);
}

}  // namespace
}  // namespace berth::cpu
