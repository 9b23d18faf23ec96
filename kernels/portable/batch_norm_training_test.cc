#include <gtest/gtest.h>

#include <cmath>

#include "kernels/portable/layout_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

// What PyTorch 2.15 gives; momentum 0.25, eps 0.001.
const Values kBatch = {3.875, -4.625, -2.375, -4.875, 4.875, 1.625, -0.5,  3.75,  2.5,  4.75,  -3.625, -2.875,
                       -1.5,  -2.5,   -1.25,  3,      4.875, -3.25, 3.125, 2.625, 3.25, -4.75, -0.25,  -4};
const Values kWeight = {4.75, 3.125};
const Values kBias = {-1.5, -4.25};
const Values kMean = {-1.5, 0.625};
const Values kVariance = {4.875, 2.75};

TEST(BatchNormTraining, UsesAndUpdatesTheStatistics) {
  for (const Order& order : orders(3)) {
    const Array input(DType::kF32, {3, 2, 4}, kBatch, order);
    const Array mean = f32({2}, kMean);
    const Array variance = f32({2}, kVariance);
    const Array out(DType::kF32, {3, 2, 4}, {}, order);
    const Array save_mean = f32({2});
    const Array save_rstd = f32({2});
    const Outcome outcome = run_with(
        native_batch_norm_legit_out,
        {input, f32({2}, kWeight), f32({2}, kBias), mean, variance, true, 0.25, 1e-3, out, save_mean, save_rstd}, 2);
    ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
    expect_near(out, {3.420332, -7.401746, -4.537078, -7.720043, 0.6597511, -2.714351, -4.920495, -0.5082073,
                      1.669702, 4.53437,   -6.128561, -5.173671, -5.95868,  -6.996865, -5.699133, -1.286846,
                      4.693518, -5.651116, 2.465443,  1.82885,   -1.0273,   -9.332782, -4.660948, -8.554143},
                1e-4);
    expect_near(save_mean, {0.01041667, 0.1458333});
    expect_near(save_rstd, {0.2680391, 0.3322193});
    expect_near(mean, {-1.122396, 0.5052083});
    expect_near(variance, {7.45203, 4.533262});
  }
}

TEST(BatchNormTraining, EvaluationUsesTheRunningStatisticsAndKeepsThem) {
  const Array mean = f32({2}, kMean);
  const Array variance = f32({2}, kVariance);
  const Array out = f32({3, 2, 4});
  ASSERT_EQ(run(native_batch_norm_legit_out, {f32({3, 2, 4}, kBatch), f32({2}, kWeight), f32({2}, kBias), mean,
                                              variance, false, 0.25, 1e-3, out, f32({0}), f32({0})}),
            Error::kOk);
  expect_near(out, {10.06219, -8.222206, -3.382218, -8.759982, 3.75744,   -2.365896, -6.369617, 1.637823,
                    7.104424, 11.94441,  -6.0711,   -4.45777,  -8.253719, -10.13782, -7.782694, 0.2247456,
                    12.2133,  -5.264435, 8.448865,  7.373312,  0.6957715, -14.37706, -5.898591, -12.96398},
              1e-4);
  EXPECT_EQ(mean.values(), kMean);
  EXPECT_EQ(variance.values(), kVariance);
}

TEST(BatchNormTraining, WithoutStatisticsIsTraining) {
  const Array out = f32({3, 2, 4});
  const Array save_mean = f32({2});
  const Array save_rstd = f32({2});
  ASSERT_EQ(run(native_batch_norm_legit_no_stats_out,
                {f32({3, 2, 4}, kBatch), nullptr, nullptr, true, 0.25, 1e-3, out, save_mean, save_rstd}),
            Error::kOk);
  expect_near(out, {1.035859,  -1.242473,  -0.6393849, -1.309483,  1.57112,    0.4914077,  -0.2145583, 1.197374,
                    0.6673057, 1.270394,   -0.9744338, -0.7734045, -0.5467775, -0.8789968, -0.4637227, 0.9482092,
                    1.303899,  -0.8739192, 0.8348302,  0.7008106,  1.031264,   -1.62649,   -0.1315035, -1.377326});
  expect_near(save_mean, {0.01041667, 0.1458333});
  expect_near(save_rstd, {0.2680391, 0.3322193});
}

TEST(BatchNormTraining, OfEqualNumbersIsZero) {
  const Array out = f32({2, 1, 2});
  const Array rstd = f32({1});
  ASSERT_EQ(run(native_batch_norm_legit_no_stats_out,
                {f32({2, 1, 2}, {7, 7, 7, 7}), nullptr, nullptr, true, 0.1, 0.25, out, f32({1}), rstd}),
            Error::kOk);
  EXPECT_EQ(out.values(), (Values{0, 0, 0, 0}));
  EXPECT_EQ(rstd.values(), Values{2});
}

TEST(BatchNormTraining, OfNothingHasNoStatistics) {
  const Array mean = f32({2}, {1, 2});
  const Array save = f32({2});
  ASSERT_EQ(run(native_batch_norm_legit_out, {f32({0, 2, 3}), nullptr, nullptr, mean, f32({2}, {1, 1}), true, 0.1, 1e-5,
                                              f32({0, 2, 3}), save, f32({2})}),
            Error::kOk);
  EXPECT_EQ(mean.values(), (Values{1, 2}));
  EXPECT_TRUE(std::isnan(save.values()[0]));
}

TEST(BatchNormTraining, RefusesWhatDoesNotFit) {
  const Array x = f32({3, 2, 4});
  const Array two = f32({2});
  EXPECT_EQ(run(native_batch_norm_legit_no_stats_out, {x, nullptr, nullptr, false, 0.1, 1e-5, x, two, two}),
            Error::kInvalidArgument);
  EXPECT_EQ(run(native_batch_norm_legit_no_stats_out, {x, f32({3}), nullptr, true, 0.1, 1e-5, x, two, two}),
            Error::kInvalidArgument);
  EXPECT_EQ(run(native_batch_norm_legit_no_stats_out, {x, nullptr, nullptr, true, 0.1, 1e-5, x, f32({3}), two}),
            Error::kInvalidArgument);
  EXPECT_EQ(run(native_batch_norm_legit_out, {x, nullptr, nullptr, f32({3}), two, true, 0.1, 1e-5, x, two, two}),
            Error::kInvalidArgument);
  EXPECT_EQ(
      run(native_batch_norm_legit_no_stats_out, {f32({2}), nullptr, nullptr, true, 0.1, 1e-5, f32({2}), two, two}),
      Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth::portable
