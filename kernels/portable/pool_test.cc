#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/seeds_testing.h"
#include "kernels/portable/kernel_testing.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::portable {
namespace {

using namespace berth::testing;
using List = std::vector<int64_t>;

constexpr size_t kPoolTemp = 1 << 20;

// 0, 1, 2, -3, 4, 5, -6, … over a plane of 5 x 7: the figures below are PyTorch's for it.
std::vector<double> plane() {
  std::vector<double> values;
  for (int i = 0; i < 35; ++i) values.push_back(i % 3 == 0 ? -i : i);
  return values;
}

void expect_pooled(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6) << i;
}

template <auto kernel>
size_t pool_temp_bytes(std::vector<Arg> args, int threads) {
  std::vector<EValue*> values;
  for (Arg& arg : args) values.push_back(arg.value());
  return kTempBytes<kernel>(Span<EValue* const>(values.data(), values.size()), threads);
}

TEST(MaxPool, EqualsPyTorch) {
  const Array x = f32({1, 1, 5, 7}, plane());
  const Array y = f32({1, 1, 3, 4});
  const Array places = i64({1, 1, 3, 4});
  ASSERT_EQ(run(max_pool2d_with_indices_out, {x, List{3, 3}, List{2}, List{1}, List{1}, false, y, places}, kPoolTemp),
            Error::kOk);
  EXPECT_EQ(y.values(), (std::vector<double>{8, 10, 11, 13, 22, 23, 26, 26, 29, 31, 32, 34}));
  EXPECT_EQ(places.values(), y.values());
  const Array z = f32({1, 1, 3, 3});
  const Array where = i64({1, 1, 3, 3});
  ASSERT_EQ(
      run(max_pool2d_with_indices_out, {x, List{3, 2}, List{2, 3}, List{1, 1}, List{1, 2}, true, z, where}, kPoolTemp),
      Error::kOk);
  EXPECT_EQ(z.values(), (std::vector<double>{8, 11, 5, 22, 25, 26, 29, 32, 26}));
  EXPECT_EQ(where.values(), z.values());
}

TEST(MaxPool, IndicesWithoutMemoryAreSkipped) {
  const Array x = f32({1, 1, 5, 7}, plane());
  const Array y = f32({1, 1, 3, 4});
  Array places = i64({1, 1, 3, 4});
  places.tensor().set_data(nullptr);
  ASSERT_EQ(run(max_pool2d_with_indices_out, {x, List{3, 3}, List{2}, List{1}, List{1}, false, y, places}, kPoolTemp),
            Error::kOk);
  EXPECT_EQ(y.values(), (std::vector<double>{8, 10, 11, 13, 22, 23, 26, 26, 29, 31, 32, 34}));
  EXPECT_TRUE(y.intact());
}

TEST(MaxPool, NanIsTheLargestAndPaddingTheSmallest) {
  for (const bool with_indices : {true, false}) {
    const Array x = f32({1, 1, 5}, {-5, kNaN, -7, -8, -kInfinity});
    const Array y = f32({1, 1, 6});
    Array places = i64({1, 1, 6});
    if (!with_indices) places.tensor().set_data(nullptr);
    ASSERT_EQ(run(max_pool2d_with_indices_out, {x, List{1, 2}, List{1, 1}, List{0, 1}, List{1, 1}, false, y, places},
                  kPoolTemp),
              Error::kOk);
    const std::vector<double> values = y.values();
    EXPECT_EQ(values[0], -5);
    EXPECT_TRUE(std::isnan(values[1]));
    EXPECT_TRUE(std::isnan(values[2]));
    EXPECT_EQ(values[3], -7);
    EXPECT_EQ(values[4], -8);
    EXPECT_EQ(values[5], -kInfinity);
    if (with_indices) {
      EXPECT_EQ(places.values(), (std::vector<double>{0, 1, 1, 2, 3, 4}));
    }
  }
}

TEST(AveragePool, EqualsPyTorch) {
  const Array x = f32({1, 5, 7}, plane());
  const Array y = f32({1, 3, 4});
  ASSERT_EQ(run(avg_pool2d_out, {x, List{3}, List{2}, List{1}, false, true, nullptr, y}, kPoolTemp), Error::kOk);
  expect_pooled(y.values(), {1.77777779, 1.0, 1.66666663, 0.0, 1.66666663, 5.33333349, 6.0, 4.33333349, 6.44444466,
                             5.66666651, 6.33333349, 0.0});
  ASSERT_EQ(run(avg_pool2d_out, {x, List{2, 3}, List{2, 2}, List{1, 1}, true, true, nullptr, y}, kPoolTemp),
            Error::kOk);
  expect_pooled(y.values(),
                {0.166666672, 0.0, 1.0, -0.166666672, 2.33333325, 4.5, 4.5, 6.66666651, 9.66666698, 8.5, 9.5, 0.0});
  ASSERT_EQ(run(avg_pool2d_out, {x, List{2, 3}, List{2, 2}, List{1, 1}, true, false, nullptr, y}, kPoolTemp),
            Error::kOk);
  expect_pooled(y.values(), {0.5, 0.0, 2.0, -0.5, 3.5, 4.5, 4.5, 10.0, 14.5, 8.5, 9.5, 0.0});
  ASSERT_EQ(run(avg_pool2d_out, {x, List{3}, List{2}, List{1}, false, true, 4, y}, kPoolTemp), Error::kOk);
  expect_pooled(y.values(), {4.0, 2.25, 3.75, 0.0, 3.75, 12.0, 13.5, 9.75, 14.5, 12.75, 14.25, 0.0});
  // Integers are divided as integers.
  const Array whole = i64({1, 5, 7}, plane());
  const Array z = i64({1, 3, 4});
  ASSERT_EQ(run(avg_pool2d_out, {whole, List{3}, List{2}, List{1}, false, true, nullptr, z}, kPoolTemp), Error::kOk);
  EXPECT_EQ(z.values(), (std::vector<double>{1, 1, 1, 0, 1, 5, 6, 4, 6, 5, 6, 0}));
}

TEST(AveragePool, EmptyStrideIsTheKernel) {
  const Array x = f32({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Array y = f32({1, 1, 2});
  ASSERT_EQ(run(avg_pool2d_out, {x, List{2, 2}, List{}, List{0}, false, true, nullptr, y}, kPoolTemp), Error::kOk);
  EXPECT_EQ(y.values(), (std::vector<double>{3.5, 5.5}));
}

TEST(AdaptiveAveragePool, EqualsPyTorch) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16}) {
    const Array x(dtype, {1, 1, 5, 7}, plane());
    const Array y(dtype, {1, 1, 2, 3});
    ASSERT_EQ(run(adaptive_avg_pool2d_out, {x, List{2, 3}, y}), Error::kOk);
    const std::vector<double> expected = {2.66666675, 3.33333325, 4.0, 7.33333349, 8.0, 8.66666698};
    for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(y.values()[i], expected[i], dtype == DType::kF16 ? 4e-3 : 1e-6);
    const Array one(dtype, {1, 1, 1, 1});
    ASSERT_EQ(run(adaptive_avg_pool2d_out, {x, List{1, 1}, one}), Error::kOk);
    // The sum of all is 595 - 2 * 198.
    EXPECT_NEAR(one.values()[0], 199.0 / 35, dtype == DType::kF16 ? 4e-3 : 1e-6);
  }
}

struct PoolCase {
  int64_t height, width;
  List kernel, stride, padding, dilation;
  bool ceil_mode;
  int64_t out_height, out_width;  // by hand
};

const std::vector<PoolCase>& pool_cases() {
  static const std::vector<PoolCase> kCases = {
      {1, 1, {1, 1}, {1, 1}, {0, 0}, {1, 1}, false, 1, 1},    {6, 7, {2, 2}, {2, 2}, {0, 0}, {1, 1}, false, 3, 3},
      {6, 7, {2, 2}, {2, 2}, {0, 0}, {1, 1}, true, 3, 4},     {112, 112, {3, 3}, {2, 2}, {1, 1}, {1, 1}, false, 56, 56},
      {20, 9, {5, 3}, {1, 4}, {2, 1}, {1, 1}, false, 20, 3},  {30, 700, {3, 3}, {1, 1}, {1, 1}, {1, 1}, false, 30, 700},
      {16, 16, {3, 2}, {3, 2}, {0, 0}, {2, 5}, false, 4, 6},  {16, 16, {9, 9}, {1, 1}, {4, 4}, {1, 1}, false, 16, 16},
      {10, 10, {3, 3}, {20, 20}, {0, 0}, {1, 1}, true, 1, 1}, {40, 3, {7, 1}, {7, 1}, {3, 0}, {1, 1}, true, 7, 3},
  };
  return kCases;
}

// Each window by its definition, in double.
std::vector<double> reference(const PoolCase& c, const std::vector<double>& x, size_t planes, bool average) {
  std::vector<double> result;
  for (size_t p = 0; p < planes; ++p) {
    for (int64_t oy = 0; oy < c.out_height; ++oy) {
      for (int64_t ox = 0; ox < c.out_width; ++ox) {
        double sum = 0;
        double most = -kInfinity;
        double count = 0;
        for (int64_t ky = 0; ky < c.kernel[0]; ++ky) {
          for (int64_t kx = 0; kx < c.kernel[1]; ++kx) {
            const int64_t y = oy * c.stride[0] - c.padding[0] + ky * c.dilation[0];
            const int64_t z = ox * c.stride[1] - c.padding[1] + kx * c.dilation[1];
            if (y < 0 || y >= c.height || z < 0 || z >= c.width) continue;
            const double value = x[p * static_cast<size_t>(c.height * c.width) + static_cast<size_t>(y * c.width + z)];
            sum += value;
            most = std::max(most, value);
            ++count;
          }
        }
        result.push_back(average ? sum / count : most);
      }
    }
  }
  return result;
}

TEST(Pool, MatchesItsDefinitionForEveryShapeDtypeOrderAndThreadCount) {
  std::mt19937 random(1);
  for (const PoolCase& c : pool_cases()) {
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kI32, DType::kF16}) {
      for (const bool channels_last : {false, true}) {
        for (const int threads : {1, 3}) {
          const std::vector<uint8_t> order = channels_last ? std::vector<uint8_t>{0, 2, 3, 1} : std::vector<uint8_t>{};
          const std::vector<int32_t> out_sizes = {2, 3, static_cast<int32_t>(c.out_height),
                                                  static_cast<int32_t>(c.out_width)};
          const Array x(dtype, {2, 3, static_cast<int32_t>(c.height), static_cast<int32_t>(c.width)}, {}, order);
          std::vector<double> values(x.tensor().numel());
          for (double& v : values) v = std::uniform_int_distribution<int>(-20, 20)(random);
          Array(x).set(values);
          const Array y(dtype, out_sizes, {}, order);
          Array places(DType::kI64, out_sizes, {}, order);
          const std::vector<double> expected = reference(c, values, 6, false);
          for (const bool with_indices : {true, false}) {
            if (!with_indices) places.tensor().set_data(nullptr);
            const std::vector<Arg> args = {x, c.kernel, c.stride, c.padding, c.dilation, c.ceil_mode, y, places};
            ASSERT_EQ(run_with(max_pool2d_with_indices_out, args, threads,
                               pool_temp_bytes<&max_pool2d_with_indices_out>(args, threads))
                          .error,
                      Error::kOk);
            ASSERT_EQ(y.values(), expected);
            ASSERT_TRUE(y.intact());
            if (!with_indices) continue;
            const std::vector<double> found = places.values();
            for (size_t i = 0; i < found.size(); ++i) {
              const size_t plane = i / static_cast<size_t>(c.out_height * c.out_width);
              ASSERT_EQ(values[plane * static_cast<size_t>(c.height * c.width) + static_cast<size_t>(found[i])],
                        expected[i]);
            }
          }
          if (!is_floating(dtype) || c.dilation != List{1, 1}) continue;
          const std::vector<Arg> args = {x, c.kernel, c.stride, c.padding, c.ceil_mode, false, nullptr, y};
          ASSERT_EQ(run_with(avg_pool2d_out, args, threads, pool_temp_bytes<&avg_pool2d_out>(args, threads)).error,
                    Error::kOk);
          const std::vector<double> mean = reference(c, values, 6, true);
          const std::vector<double> found = y.values();
          const double tolerance = dtype == DType::kF16 ? 1e-2 : 1e-5;
          for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], mean[i], tolerance) << i;
        }
      }
    }
  }
}

// Whatever the numbers: an error or a result, nothing written outside, no trap. Sanitizers see the rest.
TEST(Pool, NoArgumentsCrashIt) {
  const unsigned seed = testing::new_seed();
  std::mt19937 random(seed);
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  const int64_t kWild[] = {0, -1, 3, 5, 46341, INT32_MAX, int64_t{1} << 31, INT64_MAX, INT64_MIN};
  const auto number = [&](int64_t tame) {
    return random() % 12 == 0 ? kWild[random() % std::size(kWild)] : tame + static_cast<int64_t>(random() % 2);
  };
  const auto numbers = [&](int64_t tame) {
    List list(random() % 32 == 0 ? random() % 4 : 2);
    for (int64_t& x : list) x = number(tame);
    return list;
  };
  int done = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const auto size = [&] { return static_cast<int32_t>(random() % 9 + (random() % 16 == 0 ? 0 : 1)); };
    const DType dtype = random() % 4 == 0 ? DType::kI16 : DType::kF32;
    const Array x(dtype, {size(), size(), size()});
    const Array y(dtype, {size(), size(), size()}, {}, {}, ShapeDynamism::kBounded);
    const Array mean(dtype, y.sizes(), {}, {}, ShapeDynamism::kBounded);
    const Array places(DType::kI64, y.sizes(), {}, {}, ShapeDynamism::kBounded);
    const bool ceil_mode = random() % 2 == 0;
    const std::vector<Arg> max = {x, numbers(1), numbers(1), numbers(0), numbers(1), ceil_mode, y, places};
    const Arg divisor = random() % 2 == 0 ? Arg(nullptr) : Arg(number(1));
    const std::vector<Arg> average = {x,         numbers(1),        numbers(1), numbers(0),
                                      ceil_mode, random() % 2 == 0, divisor,    mean};
    const size_t most = pool_temp_bytes<&max_pool2d_with_indices_out>(max, 2);
    if (run_with(max_pool2d_with_indices_out, max, 2, most).error == Error::kOk) ++done;
    if (run_with(avg_pool2d_out, average, 2, pool_temp_bytes<&avg_pool2d_out>(average, 2)).error == Error::kOk) ++done;
    ASSERT_TRUE(y.intact() && mean.intact() && places.intact());
  }
  EXPECT_GT(done, 100);
}

// The numbers come from a file, which may say anything.
TEST(Pool, RefusesImpossibleNumbers) {
  const Array x = f32({1, 5, 7});
  const Array y = f32({1, 3, 4});
  const Array places = i64({1, 3, 4});
  const auto max = [&](const List& kernel, const List& stride, const List& padding, const List& dilation) {
    return run(max_pool2d_with_indices_out, {x, kernel, stride, padding, dilation, false, y, places}, kPoolTemp);
  };
  const auto average = [&](const List& kernel, const List& stride, const List& padding, const Arg& divisor) {
    return run(avg_pool2d_out, {x, kernel, stride, padding, false, true, divisor, y}, kPoolTemp);
  };
  ASSERT_EQ(max({3, 3}, {2, 2}, {1, 1}, {1, 1}), Error::kOk);
  ASSERT_EQ(average({3, 3}, {2, 2}, {1, 1}, 1), Error::kOk);
  EXPECT_NE(average({3, 3}, {2, 2}, {1, 1}, 0), Error::kOk);
  for (const int64_t bad : {int64_t{0}, int64_t{-1}, int64_t{1} << 31, INT64_MAX, INT64_MIN}) {
    EXPECT_NE(max({3, bad}, {2, 2}, {1, 1}, {1, 1}), Error::kOk);
    EXPECT_NE(max({3, 3}, {2, bad}, {1, 1}, {1, 1}), Error::kOk);
    EXPECT_NE(max({3, 3}, {2, 2}, {1, 1}, {1, bad}), Error::kOk);
    EXPECT_NE(max({3, 3}, {2, 2}, {1, bad}, {1, 1}), Error::kOk);
    EXPECT_NE(average({bad, 3}, {2, 2}, {1, 1}, 1), Error::kOk);
    EXPECT_NE(average({3, 3}, {bad, 2}, {1, 1}, 1), Error::kOk);
    EXPECT_NE(average({3, 3}, {2, 2}, {bad, 1}, 1), Error::kOk);
  }
  EXPECT_NE(max({3, 3}, {2, 2}, {2, 1}, {1, 1}), Error::kOk);  // padding over half of the window
  EXPECT_NE(max({3, 3, 3}, {2, 2}, {1, 1}, {1, 1}), Error::kOk);
  EXPECT_NE(max({}, {2, 2}, {1, 1}, {1, 1}), Error::kOk);
  EXPECT_NE(max({INT32_MAX, INT32_MAX}, {1, 1}, {0, 0}, {INT32_MAX, INT32_MAX}), Error::kOk);
  EXPECT_NE(max({5, 5}, {2, 2}, {0, 0}, {2, 2}), Error::kOk);  // the window is larger than the plane
  EXPECT_NE(run(avg_pool2d_out, {f32({5, 7}), List{1}, List{}, List{0}, false, true, nullptr, f32({5, 7})}, kPoolTemp),
            Error::kOk);
  EXPECT_NE(
      run(avg_pool2d_out, {f32({1, 0, 7}), List{1}, List{}, List{0}, false, true, nullptr, f32({1, 0, 7})}, kPoolTemp),
      Error::kOk);
  EXPECT_NE(run(avg_pool2d_out, {x, List{1}, List{}, List{0}, false, true, nullptr, i64({1, 5, 7})}, kPoolTemp),
            Error::kOk);
  EXPECT_NE(run(adaptive_avg_pool2d_out, {x, List{-1, 2}, f32({1, 1, 2})}), Error::kOk);
  EXPECT_NE(run(adaptive_avg_pool2d_out, {x, List{INT64_MAX, 2}, f32({1, 1, 2})}), Error::kOk);
  EXPECT_NE(run(adaptive_avg_pool2d_out, {x, List{2}, f32({1, 2, 2})}), Error::kOk);
  EXPECT_NE(run(adaptive_avg_pool2d_out, {x, List{2, 2}, f32({1, 2, 3})}), Error::kOk);
}

}  // namespace
}  // namespace berth::portable
