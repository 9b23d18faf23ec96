// Products and convolutions that a launch computes on tensor cores (kernels/tensor_product.cu), or the loop that stands
// in for it, against sums in double. The fears: a part of a long sum that is left out or added twice, also in the
// launches after it; a transposed convolution's pixel in another place of its square.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "kernels/portable/kernel_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

constexpr uint32_t kSeed = 20261128;

std::vector<double> random_values(std::mt19937* random, int64_t count) {
  std::vector<double> made(count);
  for (double& x : made) x = static_cast<float>(std::uniform_real_distribution<double>(-1, 1)(*random));
  return made;
}

void expect_near(const Array& found, const std::vector<double>& expected) {
  const std::vector<double> values = found.values();
  ASSERT_EQ(values.size(), expected.size());
  double largest = 1;
  for (const double x : expected) largest = std::fmax(largest, std::fabs(x));
  for (size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], expected[i], 2e-5 * largest) << "element " << i;
}

TEST(TensorProducts, LongSumsOfFewElementsAreWhole) {
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  for (const auto& [rows, depth, columns] :
       {std::array{1, 1000, 10}, std::array{70, 3001, 5}, std::array{3, 4096, 200}}) {
    const std::vector<double> x = random_values(&random, int64_t{rows} * depth);
    const std::vector<double> w = random_values(&random, int64_t{depth} * columns);
    const std::vector<double> bias = random_values(&random, columns);
    std::vector<double> expected;
    for (int64_t i = 0; i < int64_t{rows} * columns; ++i) {
      double sum = bias[i % columns];
      for (int64_t k = 0; k < depth; ++k) sum += x[i / columns * depth + k] * w[k * columns + i % columns];
      expected.push_back(std::fmax(sum, 0));
    }
    for (int turn = 0; turn < 3; ++turn) {
      const Array out = f32({rows, columns});
      const std::vector<Arg> args = {
          f32({rows, depth}, x), f32({depth, columns}, w), f32({columns}, bias), nullptr, "relu", 0.0, 0.0, "", out};
      ASSERT_EQ(run_with(fused_linear_out, args, 2, 1 << 24).error, Error::kOk);
      expect_near(out, expected);
    }
  }
}

struct Squares {
  int batch, in, out, height, width, y, x;
};

TEST(TensorProducts, PixelsOfTransposedConvolutionsAreInTheirSquares) {
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  for (const Squares& s : {Squares{1, 32, 16, 5, 7, 2, 2}, Squares{2, 5, 3, 4, 6, 3, 2}, Squares{3, 1, 1, 1, 1, 1, 4},
                           Squares{1, 200, 70, 9, 3, 2, 1}}) {
    const int height = s.height * s.y;
    const int width = s.width * s.x;
    const std::vector<double> image = random_values(&random, int64_t{s.batch} * s.in * s.height * s.width);
    const std::vector<double> weight = random_values(&random, int64_t{s.in} * s.out * s.y * s.x);
    const std::vector<double> bias = random_values(&random, s.out);
    const std::vector<double> residual = random_values(&random, int64_t{s.batch} * s.out * height * width);
    std::vector<double> expected = residual;
    for (int64_t i = 0; i < static_cast<int64_t>(expected.size()); ++i) {
      const int64_t row = i / width % height;
      const int64_t channel = i / width / height % s.out;
      const int64_t n = i / width / height / s.out;
      expected[i] += bias[channel];
      for (int64_t k = 0; k < s.in; ++k) {
        expected[i] += image[((n * s.in + k) * s.height + row / s.y) * s.width + i % width / s.x] *
                       weight[((k * s.out + channel) * s.y + row % s.y) * s.x + i % s.x];
      }
      expected[i] = std::fmax(expected[i], 0);
    }
    const Array out = f32({s.batch, s.out, height, width});
    const std::vector<Arg> args = {f32({s.batch, s.in, s.height, s.width}, image),
                                   f32({s.in, s.out, s.y, s.x}, weight),
                                   f32({s.out}, bias),
                                   f32({s.batch, s.out, height, width}, residual),
                                   Ints{s.y, s.x},
                                   Ints{0, 0},
                                   Ints{1, 1},
                                   true,
                                   Ints{0, 0},
                                   1,
                                   "relu",
                                   0.0,
                                   0.0,
                                   "",
                                   out};
    ASSERT_EQ(run_with(fused_conv_out, args, 2, 1 << 24).error, Error::kOk);
    expect_near(out, expected);
  }
}

}  // namespace
}  // namespace berth::portable
