// Convolutions of images of a few channels against the portable kernel, on every instruction set. The fears: a pixel at
// a border that sees another row's elements, tiles that overlap wrongly, planes that are taken for channels.

#include "kernels/cpu/first_conv.h"

#include <gtest/gtest.h>

#include "kernels/cpu/engine_testing.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;

using FirstConv = EngineTest;

struct FirstShape {
  int64_t batch, depth, columns, in[2], kernel[2], stride[2], padding[2];
};

int32_t out_size(const FirstShape& s, int i) {
  return static_cast<int32_t>((s.in[i] + 2 * s.padding[i] - s.kernel[i]) / s.stride[i] + 1);
}

// Counts in `*runs` how often it is this engine that runs. Where `planes`, the input is not channels last.
void expect_same(const FirstShape& s, const char* activation, bool bias, bool planes, bool special,
                 std::mt19937& random, int* runs) {
  const std::vector<uint8_t> last = {0, 2, 3, 1};
  const Array input = random_array(random, narrow({s.batch, s.depth, s.in[0], s.in[1]}),
                                   planes ? std::vector<uint8_t>() : last, special);
  const Array weight = random_array(random, narrow({s.columns, s.depth, s.kernel[0], s.kernel[1]}));
  const Arg offsets = bias ? Arg(random_array(random, narrow({s.columns}))) : Arg(nullptr);
  const std::vector<int64_t> stride(s.stride, s.stride + 2), padding(s.padding, s.padding + 2), ones = {1, 1},
                                                                                                none = {0, 0};
  const auto args = [&](const Array& out) -> std::vector<Arg> {
    return {input, weight, offsets, nullptr, stride, padding, ones, false, none, 1, activation, -0.5, 0.75, "", out};
  };
  SCOPED_TRACE(activation);
  const Array expected(DType::kF32,
                       {static_cast<int32_t>(s.batch), static_cast<int32_t>(s.columns), out_size(s, 0), out_size(s, 1)},
                       {}, last);
  // Sums of up to 196 products of numbers around 4.
  *runs += expect_engine_is_portable("stem", args, expected, 1e-4);
}

// Large enough for several tiles a row, and for threads to share.
TEST_F(FirstConv, LayersOfWellKnownNetworksMatchThePortableKernels) {
  std::mt19937 random(1);
  const FirstShape shapes[] = {
      {1, 1, 64, {49, 10}, {10, 4}, {2, 2}, {5, 1}}, {1, 3, 32, {60, 61}, {3, 3}, {2, 2}, {1, 1}},
      {1, 3, 16, {64, 64}, {3, 3}, {1, 1}, {1, 1}},  {1, 3, 64, {56, 56}, {7, 7}, {2, 2}, {3, 3}},
      {2, 3, 24, {57, 63}, {3, 3}, {2, 2}, {0, 0}},  {1, 3, 96, {40, 60}, {4, 4}, {2, 2}, {1, 1}},
  };
  for (const FirstShape& s : shapes) {
    SCOPED_TRACE(std::to_string(s.depth) + " channels to " + std::to_string(s.columns));
    for (const bool planes : {false, true}) {
      int runs = 0;
      expect_same(s, "relu", true, planes, false, random, &runs);
      expect_same(s, "hard_swish", false, planes, false, random, &runs);
      EXPECT_EQ(runs, 2 * all_runs());
      if (::testing::Test::HasFatalFailure()) break;
    }
  }
}

// Windows and strides of all sizes, padding wider than the image, columns that fill no register.
TEST_F(FirstConv, EveryWindowMatchesThePortableKernels) {
  int runs = 0;
  for (int turn = 0; turn < 150 && !::testing::Test::HasFatalFailure(); ++turn) {
    SCOPED_TRACE(turn);
    FirstShape s = {whole(1, 2), whole(1, 4), whole(1, 140), {}, {}, {}, {}};
    for (int i = 0; i < 2; ++i) {
      s.kernel[i] = whole(1, 7);
      s.stride[i] = whole(1, 3);
      s.padding[i] = whole(0, s.kernel[i] + 1);
      s.in[i] = std::max(whole(1, i == 0 ? 9 : 80), s.kernel[i] - 2 * s.padding[i]);
    }
    const bool special = whole(0, 3) == 0;
    expect_same(s, any_activation(random_), truth(), truth(), special, random_, &runs);
  }
  EXPECT_GT(runs, 100);
}

}  // namespace
}  // namespace berth::cpu
