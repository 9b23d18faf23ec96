// Softmax and the normalisations against plain loops in double: along every dimension, in every layout, in place.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/portable/layout_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

Values random_up_to_five(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  Values values(count);
  for (double& value : values) value = static_cast<double>(random() % 2001) / 200 - 5;
  return values;
}

// Softmax of row-major `values` along one dimension.
Values exact_softmax(const Values& values, const Shape& sizes, size_t dim, bool log) {
  size_t stride = 1;
  for (size_t d = dim + 1; d < sizes.size(); ++d) stride *= static_cast<size_t>(sizes[d]);
  const auto length = static_cast<size_t>(sizes[dim]);
  Values result(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t first = i - i / stride % length * stride;
    double sum = 0;
    for (size_t j = 0; j < length; ++j) sum += std::exp(values[first + j * stride]);
    result[i] = log ? values[i] - std::log(sum) : std::exp(values[i]) / sum;
  }
  return result;
}

// Within `tolerance` of what is expected, or of `scale`, the magnitude of the terms that it is a difference of.
void expect_close(const Array& actual, const Values& expected, double tolerance, double scale,
                  const std::string& where) {
  const Values values = actual.values();
  ASSERT_EQ(values.size(), expected.size());
  EXPECT_TRUE(actual.intact()) << where;
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(values[i], expected[i], tolerance * (std::fabs(expected[i]) + scale)) << where << ", element " << i;
  }
}

TEST(Softmax, IsExactInEveryDimensionAndLayout) {
  const std::vector<std::vector<uint8_t>> orders = {{0, 1, 2, 3}, {0, 2, 3, 1}, {3, 1, 0, 2}};
  const struct {
    DType dtype;
    double tolerance;
  } kinds[] = {{DType::kF32, 2e-6}, {DType::kF64, 1e-13}, {DType::kF16, 2e-3}, {DType::kBF16, 2e-2}};
  uint32_t seed = 1;
  for (const Shape& sizes : {Shape{2, 3, 4, 5}, {1, 21, 6, 90}, {3, 1, 1, 300}}) {
    for (const auto& order : orders) {
      for (const auto& kind : kinds) {
        const Array x(kind.dtype, sizes, random_up_to_five(count_of(sizes), seed++), order);
        const Array y(kind.dtype, sizes, {}, seed % 2 == 0 ? order : orders[0]);
        const Values in = x.values();
        for (int dim = 0; dim < 4; ++dim) {
          const std::string where = "seed " + std::to_string(seed) + " dim " + std::to_string(dim);
          ASSERT_EQ(run_with(softmax_out, {x, dim, false, y}, 1 + dim).error, Error::kOk);
          expect_close(y, exact_softmax(in, sizes, dim, false), kind.tolerance, 1e-4, where);
          ASSERT_EQ(run_with(log_softmax_out, {x, dim - 4, false, y}, 1 + dim).error, Error::kOk);
          expect_close(y, exact_softmax(in, sizes, dim, true), kind.tolerance, 1, where + " log");
        }
      }
    }
  }
}

TEST(Softmax, IsExactInPlaceOnThreads) {
  const Shape sizes = {16, 12, 300};
  for (const bool log : {false, true}) {
    for (int dim = 0; dim < 3; ++dim) {
      const Values in = random_up_to_five(count_of(sizes), 7);
      const Array x(DType::kF32, sizes, in);
      const Values rounded = x.values();
      ASSERT_EQ(run_with(log ? Kernel(log_softmax_out) : softmax_out, {x, dim, false, x}, 4).error, Error::kOk);
      expect_close(x, exact_softmax(rounded, sizes, dim, log), 2e-6, log ? 1 : 1e-4, "dim " + std::to_string(dim));
    }
  }
}

TEST(Softmax, LargeInputsDoNotOverflow) {
  const Array y = f32({3});
  ASSERT_EQ(run(softmax_out, {f32({3}, {1000, 999, -1000}), 0, false, y}), Error::kOk);
  EXPECT_NEAR(y.values()[0], 1 / (1 + std::exp(-1)), 1e-6);
  EXPECT_EQ(y.values()[2], 0);
}

TEST(Softmax, IsNaNWhereItHasNoMeaning) {
  const Array y = f32({2});
  for (const Values& in : {Values{-kInfinity, -kInfinity}, {kInfinity, 1}, {kNaN, 1}}) {
    for (const Kernel kernel : std::initializer_list<Kernel>{softmax_out, log_softmax_out}) {
      ASSERT_EQ(run(kernel, {f32({2}, in), 0, false, y}), Error::kOk);
      EXPECT_TRUE(std::isnan(y.values()[0])) << in[0];
    }
  }
  ASSERT_EQ(run(softmax_out, {f32({2}, {-kInfinity, 1}), 0, false, y}), Error::kOk);
  EXPECT_EQ(y.values(), (Values{0, 1}));
}

TEST(Softmax, ChecksItsArguments) {
  const Array one = f32({}, {3});
  ASSERT_EQ(run(softmax_out, {one, -1, false, one}), Error::kOk);
  EXPECT_EQ(one.values()[0], 1);
  EXPECT_EQ(run(softmax_out, {one, 1, false, one}), Error::kInvalidArgument);
  EXPECT_EQ(run(softmax_out, {i64({2}, {1, 2}), 0, false, i64({2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(softmax_out, {f32({0, 3}), 1, false, f32({0, 3})}), Error::kOk);
}

struct Affine {
  Values weight;
  Values bias;
};

// Rows of `length` elements; weight and bias an element each.
Values exact_layer_norm(const Values& in, size_t length, const Affine& affine, double eps, Values* means) {
  Values out(in.size());
  for (size_t first = 0; first < in.size(); first += length) {
    double sum = 0;
    for (size_t i = 0; i < length; ++i) sum += in[first + i];
    const double mean = sum / static_cast<double>(length);
    double squares = 0;
    for (size_t i = 0; i < length; ++i) squares += (in[first + i] - mean) * (in[first + i] - mean);
    const double rstd = 1 / std::sqrt(squares / static_cast<double>(length) + eps);
    for (size_t i = 0; i < length; ++i) {
      const double weight = affine.weight.empty() ? 1 : affine.weight[i];
      const double bias = affine.bias.empty() ? 0 : affine.bias[i];
      out[first + i] = (in[first + i] - mean) * rstd * weight + bias;
    }
    means->push_back(mean);
  }
  return out;
}

TEST(LayerNorm, IsExactForEveryLayoutTypeAndOptionalArgument) {
  const Shape sizes = {3, 4, 50};
  uint32_t seed = 1;
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16}) {
    const double tolerance = dtype == DType::kF32 ? 1e-5 : dtype == DType::kF64 ? 1e-12 : 5e-3;
    for (const auto& order : std::vector<std::vector<uint8_t>>{{0, 1, 2}, {2, 0, 1}}) {
      for (int options = 0; options < 4; ++options) {
        const Array x(dtype, sizes, random_up_to_five(600, seed++), order);
        const Array w(dtype, {50}, random_up_to_five(50, seed++));
        const Array b(dtype, {50}, random_up_to_five(50, seed++));
        const Array y(dtype, sizes, {}, order);
        const Array mean(dtype, {3, 4, 1});
        const Array rstd(dtype, {3, 4, 1});
        const Arg weight = (options & 1) != 0 ? Arg(w) : Arg(nullptr);
        const Arg bias = (options & 2) != 0 ? Arg(b) : Arg(nullptr);
        const std::vector<int64_t> shape = {50};
        ASSERT_EQ(run_with(native_layer_norm_out, {x, shape, weight, bias, 1e-5, y, mean, rstd}, 2).error, Error::kOk);
        Values means;
        const Affine affine = {(options & 1) != 0 ? w.values() : Values(), (options & 2) != 0 ? b.values() : Values()};
        const std::string where = "seed " + std::to_string(seed) + " " + to_string(dtype);
        expect_close(y, exact_layer_norm(x.values(), 50, affine, 1e-5, &means), tolerance, 1, where);
        expect_close(mean, means, tolerance, 1, where);
      }
    }
  }
}

TEST(LayerNorm, IsExactInPlaceAndOverSeveralDimensions) {
  const Values in = random_up_to_five(240, 5);
  const Array x = f32({2, 4, 30}, in);
  const Values rounded = x.values();
  const Array mean = f32({2, 1, 1});
  const Array rstd = f32({2, 1, 1});
  const std::vector<int64_t> shape = {4, 30};
  ASSERT_EQ(run(native_layer_norm_out, {x, shape, nullptr, nullptr, 1e-5, x, mean, rstd}), Error::kOk);
  Values means;
  expect_close(x, exact_layer_norm(rounded, 120, {}, 1e-5, &means), 1e-5, 1, "in place");
}

TEST(LayerNorm, ChecksItsArguments) {
  const Array x = f32({2, 3});
  const Array s = f32({2, 1});
  using Shape64 = std::vector<int64_t>;
  EXPECT_EQ(run(native_layer_norm_out, {x, Shape64{4}, nullptr, nullptr, 1e-5, x, s, s}), Error::kInvalidArgument);
  EXPECT_EQ(run(native_layer_norm_out, {x, Shape64{}, nullptr, nullptr, 1e-5, x, s, s}), Error::kInvalidArgument);
  EXPECT_EQ(run(native_layer_norm_out, {x, Shape64{1, 2, 3}, nullptr, nullptr, 1e-5, x, s, s}),
            Error::kInvalidArgument);
  EXPECT_EQ(run(native_layer_norm_out, {x, Shape64{3}, f32({2}), nullptr, 1e-5, x, s, s}), Error::kInvalidArgument);
  const Array none = f32({2, 0});
  ASSERT_EQ(run(native_layer_norm_out, {none, Shape64{0}, nullptr, nullptr, 1e-5, none, s, s}), Error::kOk);
  EXPECT_TRUE(std::isnan(s.values()[0]));
}

// [N, C, plane] with groups; weight and bias an element a channel.
Values exact_group_norm(const Values& in, const Shape& sizes, size_t groups, const Affine& affine, double eps) {
  const size_t channels = sizes[1];
  const size_t plane = in.size() / (static_cast<size_t>(sizes[0]) * channels);
  const size_t length = channels / groups * plane;
  Values means;
  Values out = exact_layer_norm(in, length, {}, eps, &means);
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t channel = i / plane % channels;
    out[i] = out[i] * (affine.weight.empty() ? 1 : affine.weight[channel]) +
             (affine.bias.empty() ? 0 : affine.bias[channel]);
  }
  return out;
}

TEST(GroupNorm, IsExactForEveryLayoutAndType) {
  const Shape sizes = {2, 6, 5, 7};
  uint32_t seed = 1;
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
    const double tolerance = dtype == DType::kF32 ? 2e-5 : dtype == DType::kF64 ? 1e-12 : 4e-2;
    for (const auto& order : std::vector<std::vector<uint8_t>>{{0, 1, 2, 3}, {0, 2, 3, 1}}) {
      for (const int groups : {1, 2, 6}) {
        const Array x(dtype, sizes, random_up_to_five(420, seed++), order);
        const Array w(dtype, {6}, random_up_to_five(6, seed++));
        const Array y(dtype, sizes, {}, order);
        const Array mean(dtype, {2, groups});
        const Array rstd(dtype, {2, groups});
        ASSERT_EQ(run_with(native_group_norm_out, {x, w, nullptr, 2, 6, 35, groups, 1e-5, y, mean, rstd}, 3).error,
                  Error::kOk);
        expect_close(y, exact_group_norm(x.values(), sizes, static_cast<size_t>(groups), {w.values(), {}}, 1e-5),
                     tolerance, 1, "seed " + std::to_string(seed));
      }
    }
  }
  const Array x = f32({1, 6, 4});
  const Array s = f32({1, 4});
  EXPECT_EQ(run(native_group_norm_out, {x, nullptr, nullptr, 1, 6, 4, 4, 1e-5, x, s, s}), Error::kInvalidArgument);
  EXPECT_EQ(run(native_group_norm_out, {x, nullptr, nullptr, 1, 6, 4, 0, 1e-5, x, s, s}), Error::kInvalidArgument);
}

TEST(BatchNorm, IsExactForEveryLayoutTypeAndRank) {
  uint32_t seed = 1;
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16}) {
    const double tolerance = dtype == DType::kF32 ? 1e-5 : dtype == DType::kF64 ? 1e-12 : 5e-3;
    for (const Shape& sizes : {Shape{2, 300}, {2, 5, 9}, {2, 5, 3, 4}, {1, 300, 2, 2}}) {
      for (const bool last : {false, true}) {
        std::vector<uint8_t> order = {0};
        for (size_t d = last ? 2 : 1; d < sizes.size(); ++d) order.push_back(static_cast<uint8_t>(d));
        if (last) order.push_back(1);
        const Array x(dtype, sizes, random_up_to_five(count_of(sizes), seed++), order);
        const Array y(dtype, sizes, {}, seed % 3 == 0 ? std::vector<uint8_t>() : order);
        const auto channels = sizes[1];
        Values variances = random_up_to_five(channels, seed++);
        for (double& v : variances) v = std::fabs(v) + 0.1;
        const Array w(dtype, {channels}, random_up_to_five(channels, seed++));
        const Array b(dtype, {channels}, random_up_to_five(channels, seed++));
        const Array m(dtype, {channels}, random_up_to_five(channels, seed++));
        const Array v(dtype, {channels}, variances);
        ASSERT_EQ(run_with(native_batch_norm_legit_no_training_out,
                           {x, w, b, m, v, 0.1, 1e-5, y, Array(dtype, {0}), Array(dtype, {0})}, 2)
                      .error,
                  Error::kOk);
        const Values in = x.values();
        Values expected(in.size());
        const size_t plane = in.size() / static_cast<size_t>(sizes[0] * channels);
        const Values ws = w.values(), bs = b.values(), ms = m.values(), vs = v.values();
        for (size_t i = 0; i < in.size(); ++i) {
          const size_t c = i / plane % static_cast<size_t>(channels);
          expected[i] = (in[i] - ms[c]) / std::sqrt(vs[c] + 1e-5) * ws[c] + bs[c];
        }
        // What is near zero by cancellation is as exact as its terms.
        const Values actual = y.values();
        for (size_t i = 0; i < in.size(); ++i) ASSERT_NEAR(actual[i], expected[i], tolerance * 40) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace berth::portable
