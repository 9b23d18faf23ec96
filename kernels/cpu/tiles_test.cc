// Tiles of every height and width, against sums in double precision. The fears: a row or column too many or too few, a
// strip that two tiles do, a pixel at the border that sees what lies beyond it.

#include "kernels/cpu/tiles.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "kernels/cpu/simd_testing.h"

namespace berth::cpu {
namespace {

constexpr int64_t kLeastDepth = 1;
constexpr float kInfinite = std::numeric_limits<float>::infinity();

std::vector<float> numbers(std::mt19937& random, int64_t count) {
  std::vector<float> result(count);
  std::uniform_real_distribution<float> real(-1, 1);
  for (float& x : result) x = real(random);
  return result;
}

float at(const std::vector<float>& x, int64_t i) { return x[i]; }

// A convolution with all that it reads and what it gives.
struct TilesCase {
  ConvSpec spec;
  std::vector<float> input, weight, bias, residual;
  std::vector<double> expected;

  int64_t depth() const { return spec.in_channels / spec.groups; }
  int64_t columns() const { return spec.out_channels / spec.groups; }

  double sum(int64_t image, int64_t y, int64_t x, int64_t channel) const {
    const int64_t group = channel / columns();
    double sum = 0;
    for (int64_t ky = 0; ky < spec.kernel[0]; ++ky) {
      for (int64_t kx = 0; kx < spec.kernel[1]; ++kx) {
        const int64_t iy = y * spec.stride[0] - spec.padding[0] + ky * spec.dilation[0];
        const int64_t ix = x * spec.stride[1] - spec.padding[1] + kx * spec.dilation[1];
        if (iy < 0 || iy >= spec.in[0] || ix < 0 || ix >= spec.in[1]) continue;
        for (int64_t k = 0; k < depth(); ++k) {
          const int64_t from = ((image * spec.in[0] + iy) * spec.in[1] + ix) * spec.in_channels + group * depth() + k;
          const int64_t tap = ((channel * depth() + k) * spec.kernel[0] + ky) * spec.kernel[1] + kx;
          sum += static_cast<double>(at(input, from)) * static_cast<double>(at(weight, tap));
        }
      }
    }
    return sum;
  }
};

TilesCase case_of(const ConvSpec& spec, unsigned seed) {
  std::mt19937 random(seed);
  TilesCase c;
  c.spec = spec;
  for (int i = 0; i < 2; ++i) {
    const int64_t reach = (spec.kernel[i] - 1) * spec.dilation[i] + 1;
    c.spec.out[i] = (spec.in[i] + 2 * spec.padding[i] - reach) / spec.stride[i] + 1;
  }
  const ConvSpec& s = c.spec;
  const auto strides = [&](int64_t channels, const int64_t(&size)[2], int64_t(&stride)[4]) {
    const int64_t counts[4] = {s.batch, channels, size[0], size[1]};
    const int64_t last[4] = {channels * size[0] * size[1], 1, channels * size[1], channels};
    for (int i = 0; i < 4; ++i) stride[i] = counts[i] == 1 ? 0 : last[i];
  };
  strides(s.in_channels, s.in, c.spec.in_stride);
  strides(s.out_channels, s.out, c.spec.out_stride);
  c.input = numbers(random, s.batch * s.in[0] * s.in[1] * s.in_channels);
  c.weight = numbers(random, s.out_channels * c.depth() * s.kernel[0] * s.kernel[1]);
  c.bias = numbers(random, s.out_channels);
  c.residual = numbers(random, s.batch * s.out[0] * s.out[1] * s.out_channels);
  return c;
}

void expect(TilesCase& c) {
  const ConvSpec& s = c.spec;
  c.expected.clear();
  for (int64_t image = 0; image < s.batch; ++image) {
    for (int64_t y = 0; y < s.out[0]; ++y) {
      for (int64_t x = 0; x < s.out[1]; ++x) {
        for (int64_t channel = 0; channel < s.out_channels; ++channel) {
          double sum = c.sum(image, y, x, channel);
          if (s.finish.bias != 0) sum += static_cast<double>(at(c.bias, channel));
          if (s.finish.residual != 0) sum += static_cast<double>(c.residual[c.expected.size()]);
          c.expected.push_back(sum);
        }
      }
    }
  }
}

// Compares, and that nothing is written beyond the result.
void check(const TilesCase& c, std::unique_ptr<EngineKind> kind) {
  ASSERT_NE(kind, nullptr);
  const auto engine = kind->make();
  std::vector<float> packed(engine->weight().packed_numel());
  pack(engine->weight(), c.weight.data(), packed.data());
  std::vector<float> out = c.residual;
  out.resize(out.size() + 64, 77.0f);
  KernelContext context({}, nullptr);
  ASSERT_EQ(engine->run(context, {c.input.data(), c.spec.finish.bias != 0 ? c.bias.data() : nullptr, out.data()},
                        packed.data()),
            Error::kOk);
  for (size_t i = 0; i < c.expected.size(); ++i) {
    if (std::isfinite(c.expected[i])) {
      ASSERT_NEAR(static_cast<double>(out[i]), c.expected[i], 1e-4) << "at " << i << " of " << c.expected.size();
    } else {
      ASSERT_FALSE(std::isfinite(out[i])) << "at " << i;
    }
  }
  for (size_t i = c.expected.size(); i < out.size(); ++i) ASSERT_EQ(out[i], 77.0f) << "beyond the result";
}

void check_everywhere(const ConvSpec& spec, unsigned seed) {
  TilesCase c = case_of(spec, seed);
  expect(c);
  for_each_simd_target([&](const char* target) {
    SCOPED_TRACE(target);
    check(c, any_shape_tile_kind(c.spec));
  });
}

// Rows of products: 1 to 60 give strips of every height of every width of panel.
TEST(Tiles, ProductsOfEveryHeightAndWidth) {
  for (int64_t rows = 1; rows <= 60; ++rows) {
    for (int64_t columns = 1; columns <= 70; columns += rows % 3 + 1) {
      SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(columns) + " columns");
      ConvSpec spec;
      spec.in_channels = kLeastDepth + rows % 7;
      spec.out_channels = columns;
      spec.in[1] = rows;
      spec.finish.bias = columns % 2;
      spec.finish.residual = columns % 3 == 0 ? 1 : 0;
      check_everywhere(spec, static_cast<unsigned>(rows * 100 + columns));
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Tiles, WindowsOfEveryHeightAndWidth) {
  for (int64_t width = 1; width <= 60; ++width) {
    for (const int64_t columns : {5, 16, 17, 24, 32, 40, 64, 65}) {
      for (const int64_t padding : {0, 1}) {
        SCOPED_TRACE(std::to_string(width) + " wide, " + std::to_string(columns) + " columns");
        if (width + 2 * padding < 3) continue;
        ConvSpec spec;
        spec.in_channels = kLeastDepth;
        spec.out_channels = columns;
        spec.in[0] = 3;
        spec.in[1] = width;
        spec.kernel[0] = spec.kernel[1] = 3;
        spec.padding[0] = 1;
        spec.padding[1] = padding;
        check_everywhere(spec, static_cast<unsigned>(width * 100 + columns));
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(Tiles, WindowsOfAllKindsAreSums) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto whole = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    ConvSpec spec;
    spec.batch = whole(1, 2);
    spec.groups = whole(0, 2) == 0 ? whole(2, 4) : 1;
    spec.in_channels = spec.groups * whole(spec.groups == 1 ? kLeastDepth : 2, 9);
    spec.out_channels = spec.groups * whole(1, 40);
    for (int i = 0; i < 2; ++i) {
      spec.kernel[i] = whole(1, 5);
      spec.stride[i] = whole(1, 3);
      spec.dilation[i] = whole(1, 3);
      const int64_t reach = (spec.kernel[i] - 1) * spec.dilation[i] + 1;
      spec.padding[i] = whole(0, reach + 1);
      spec.in[i] = std::max<int64_t>(1, reach - 2 * spec.padding[i]) + whole(0, i == 0 ? 4 : 34);
    }
    spec.finish.bias = whole(0, 1);
    spec.finish.residual = whole(0, 1);
    check_everywhere(spec, seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

// An infinity makes the sums that include it infinite or NaN, and no others; bounds let NaN through.
TEST(Tiles, WindowsThatDoNotSeeAnInfinityAreFinite) {
  for (const int64_t width : {5, 14, 30}) {
    for (const float special : {kInfinite, std::numeric_limits<float>::quiet_NaN()}) {
      ConvSpec spec;
      spec.batch = 2;
      spec.in_channels = kLeastDepth;
      spec.out_channels = 20;
      spec.in[0] = 5;
      spec.in[1] = width;
      spec.kernel[0] = spec.kernel[1] = 3;
      spec.padding[0] = spec.padding[1] = 1;
      TilesCase c = case_of(spec, 3);
      // The last place of a row and the first of the next.
      c.input[(width * 2 + width - 1) * kLeastDepth] = special;
      c.input[width * 3 * kLeastDepth] = special;
      expect(c);
      for_each_simd_target([&](const char* target) {
        SCOPED_TRACE(target);
        check(c, any_shape_tile_kind(c.spec));
      });
    }
  }
}

TEST(Tiles, BoundsKeepNaN) {
  ConvSpec spec;
  spec.in_channels = kLeastDepth;
  spec.out_channels = 3;
  spec.in[1] = 3;
  for (const auto kind : {portable::ActivationKind::kRelu, portable::ActivationKind::kClamp}) {
    spec.finish.activation = static_cast<int64_t>(kind);
    spec.finish.alpha = -0.5;
    spec.finish.beta = 0.5;
    TilesCase c = case_of(spec, 1);
    c.input.assign(3 * kLeastDepth, 0);
    c.weight.assign(3 * kLeastDepth, 1);
    c.input[0] = std::numeric_limits<float>::quiet_NaN();
    c.input[kLeastDepth] = 100;
    c.input[2 * kLeastDepth] = -100;
    const bool relu = kind == portable::ActivationKind::kRelu;
    for_each_simd_target([&](const char* target) {
      SCOPED_TRACE(target);
      const auto engine = any_shape_tile_kind(c.spec)->make();
      std::vector<float> packed(engine->weight().packed_numel()), out(9);
      pack(engine->weight(), c.weight.data(), packed.data());
      KernelContext context({}, nullptr);
      ASSERT_EQ(engine->run(context, {c.input.data(), nullptr, out.data()}, packed.data()), Error::kOk);
      EXPECT_TRUE(std::isnan(out[0]));
      EXPECT_EQ(out[3], relu ? 100.0f : 0.5f);
      EXPECT_EQ(out[6], relu ? 0.0f : -0.5f);
    });
  }
}

}  // namespace
}  // namespace berth::cpu
