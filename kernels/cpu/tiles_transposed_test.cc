// Transposed convolutions as convolutions of their own for each pixel within a stride, against the sums that they are
// by definition: each pixel of the input adds to all that its taps reach. The fears: a pixel that no tap reaches, taps
// in the wrong order, an output padding that is not filled.

#include "kernels/cpu/tiles_transposed.h"

#include <gtest/gtest.h>

#include <random>

#include "kernels/cpu/simd_testing.h"

namespace berth::cpu {
namespace {

void set_strides(int64_t batch, int64_t channels, const int64_t (&size)[2], int64_t (&stride)[4]) {
  const int64_t counts[4] = {batch, channels, size[0], size[1]};
  const int64_t last[4] = {channels * size[0] * size[1], 1, channels * size[1], channels};
  for (int i = 0; i < 4; ++i) stride[i] = counts[i] == 1 ? 0 : last[i];
}

struct RandomSpec {
  std::mt19937 engine;
  int64_t whole(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine); }
  std::vector<float> numbers(int64_t count) {
    std::vector<float> result(count);
    std::uniform_real_distribution<float> real(-1, 1);
    for (float& x : result) x = real(engine);
    return result;
  }
};

ConvSpec random_spec(RandomSpec& random) {
  ConvSpec s;
  s.transposed = 1;
  s.batch = random.whole(1, 2);
  s.groups = random.whole(0, 2) == 0 ? random.whole(2, 3) : 1;
  s.in_channels = s.groups * random.whole(1, 9);
  s.out_channels = s.groups * random.whole(1, 70);
  for (int i = 0; i < 2; ++i) {
    s.in[i] = random.whole(1, i == 0 ? 4 : 31);
    s.kernel[i] = random.whole(1, 5);
    s.stride[i] = random.whole(1, 4);
    s.dilation[i] = random.whole(1, 3);
    const int64_t reach = (s.kernel[i] - 1) * s.dilation[i] + 1;
    s.padding[i] = random.whole(0, (reach - 1) / 2);
    const int64_t output_padding = random.whole(0, std::max(s.stride[i], s.dilation[i]) - 1);
    s.out[i] = (s.in[i] - 1) * s.stride[i] + reach - 2 * s.padding[i] + output_padding;
  }
  set_strides(s.batch, s.in_channels, s.in, s.in_stride);
  set_strides(s.batch, s.out_channels, s.out, s.out_stride);
  s.finish.bias = random.whole(0, 1);
  s.finish.residual = random.whole(0, 1);
  return s;
}

// The weight is [in][out of a group][kernel][kernel].
std::vector<double> sums(const ConvSpec& s, const std::vector<float>& input, const std::vector<float>& weight,
                         const std::vector<float>& bias, const std::vector<float>& residual) {
  std::vector<double> out(residual.size());
  const auto channels = static_cast<size_t>(s.out_channels);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = s.finish.residual != 0 ? static_cast<double>(residual[i]) : 0;
    if (s.finish.bias != 0) out[i] += static_cast<double>(bias[i % channels]);
  }
  const int64_t depth = s.in_channels / s.groups, columns = s.out_channels / s.groups;
  const float* x = input.data();
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t pixel = 0; pixel < s.in[0] * s.in[1]; ++pixel) {
      for (int64_t k = 0; k < s.in_channels; ++k, ++x) {
        const float* w = weight.data() + k * columns * s.kernel[0] * s.kernel[1];
        for (int64_t i = 0; i < columns * s.kernel[0] * s.kernel[1]; ++i, ++w) {
          const int64_t column = k / depth * columns + i / (s.kernel[0] * s.kernel[1]);
          const int64_t oy =
              pixel / s.in[1] * s.stride[0] + i / s.kernel[1] % s.kernel[0] * s.dilation[0] - s.padding[0];
          const int64_t ox = pixel % s.in[1] * s.stride[1] + i % s.kernel[1] * s.dilation[1] - s.padding[1];
          if (oy < 0 || oy >= s.out[0] || ox < 0 || ox >= s.out[1]) continue;
          const int64_t to = ((n * s.out[0] + oy) * s.out[1] + ox) * s.out_channels + column;
          out[to] += static_cast<double>(*x) * static_cast<double>(*w);
        }
      }
    }
  }
  return out;
}

TEST(TilesTransposed, AddWhatEachInputReaches) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    RandomSpec random{std::mt19937(seed)};
    const ConvSpec s = random_spec(random);
    const std::vector<float> input = random.numbers(s.batch * s.in[0] * s.in[1] * s.in_channels);
    const std::vector<float> weight =
        random.numbers(s.in_channels * s.out_channels / s.groups * s.kernel[0] * s.kernel[1]);
    const std::vector<float> bias = random.numbers(s.out_channels);
    const std::vector<float> residual = random.numbers(s.batch * s.out[0] * s.out[1] * s.out_channels);
    const std::vector<double> expected = sums(s, input, weight, bias, residual);
    for_each_simd_target([&](const char* target) {
      SCOPED_TRACE(target);
      const auto kind = transposed_tile_kind(s);
      ASSERT_NE(kind, nullptr);
      const auto engine = kind->make();
      ASSERT_EQ(engine->weight().numel(), static_cast<int64_t>(weight.size()));
      std::vector<float> packed(engine->weight().packed_numel());
      pack(engine->weight(), weight.data(), packed.data());
      std::vector<float> out = residual;
      out.resize(out.size() + 64, 77.0f);
      KernelContext context({}, nullptr);
      const Operands operands = {input.data(), s.finish.bias != 0 ? bias.data() : nullptr, out.data()};
      ASSERT_EQ(engine->run(context, operands, packed.data()), Error::kOk);
      for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(static_cast<double>(out[i]), expected[i], 1e-4) << i;
      for (size_t i = expected.size(); i < out.size(); ++i) ASSERT_EQ(out[i], 77.0f) << "beyond the result";
    });
    if (::testing::Test::HasFatalFailure()) return;
  }
}

// A window of 2 at steps of 2: four plain products, the taps of each pixel its own. By hand.
TEST(TilesTransposed, TwoByTwoAtStrideTwoIsFourProducts) {
  ConvSpec s;
  s.transposed = 1;
  s.in[1] = 2;
  s.out[0] = 2;
  s.out[1] = 4;
  for (int i = 0; i < 2; ++i) s.kernel[i] = s.stride[i] = 2;
  set_strides(1, 1, s.in, s.in_stride);
  set_strides(1, 1, s.out, s.out_stride);
  const float input[] = {10, 100}, weight[] = {1, 2, 3, 4};
  const auto engine = transposed_tile_kind(s)->make();
  std::vector<float> packed(engine->weight().packed_numel()), out(8);
  pack(engine->weight(), weight, packed.data());
  KernelContext context({}, nullptr);
  ASSERT_EQ(engine->run(context, {input, nullptr, out.data()}, packed.data()), Error::kOk);
  EXPECT_EQ(out, (std::vector<float>{10, 20, 100, 200, 30, 40, 300, 400}));
}

TEST(TilesTransposed, RefuseUnsupportedConvolutions) {
  ConvSpec s;
  EXPECT_EQ(transposed_tile_kind(s), nullptr);
  s.transposed = 1;
  EXPECT_NE(transposed_tile_kind(s), nullptr);
  s.stride[1] = int64_t{1} << 40;
  EXPECT_EQ(transposed_tile_kind(s), nullptr);
}

}  // namespace
}  // namespace berth::cpu
