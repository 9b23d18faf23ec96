#include "compiler/quantize/ranges.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/seeds_testing.h"

namespace berth::quantize {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Extremes extremes_of(const std::vector<float>& numbers) {
  Extremes extremes;
  extremes.add(numbers);
  return extremes;
}

Histogram histogram_of(const std::vector<float>& numbers) {
  Histogram histogram(extremes_of(numbers).range());
  histogram.add(numbers);
  return histogram;
}

TEST(Extremes, GrowOverSamplesAndLeaveOutWhatIsNotFinite) {
  Extremes extremes = extremes_of({kNan, 3, kInf});
  EXPECT_EQ(extremes.range().low, 3);
  EXPECT_EQ(extremes.range().high, 3);
  extremes.add(std::vector<float>{-1, 2, -kInf});
  EXPECT_EQ(extremes.range().low, -1);
  EXPECT_EQ(extremes.range().high, 3);
  EXPECT_TRUE(extremes_of({kNan}).empty());
}

TEST(Histogram, CountsBothEnds) {
  const Histogram histogram = histogram_of({0, 2048, 1, 1.5f, 2047.5f});
  EXPECT_EQ(histogram.counts()[0], 1);
  EXPECT_EQ(histogram.counts()[1], 2);
  EXPECT_EQ(histogram.counts()[2047], 2);
}

TEST(Histogram, OfOneNumberKeepsIt) {
  for (const Method method : {Method::kMinMax, Method::kPercentile, Method::kEntropy}) {
    const Range range = histogram_of({5, 5, 5}).range(method, 99);
    EXPECT_EQ(range.low, 5);
    EXPECT_EQ(range.high, 5);
  }
}

TEST(Histogram, APercentileCutsBothEnds) {
  std::vector<float> numbers;
  for (int i = 0; i <= 2048; ++i) numbers.push_back(static_cast<float>(i));
  const Range range = histogram_of(numbers).range(Method::kPercentile, 90);
  EXPECT_NEAR(range.low, 0.05 * 2048, 1.5);
  EXPECT_NEAR(range.high, 0.95 * 2048, 1.5);
  const Range all = histogram_of(numbers).range(Method::kPercentile, 100);
  EXPECT_EQ(all.low, 0);
  EXPECT_EQ(all.high, 2048);
}

TEST(Histogram, APercentileForgetsAnOutlier) {
  std::vector<float> numbers(100'000, 0.5f);
  numbers.push_back(1000);
  EXPECT_LT(histogram_of(numbers).range(Method::kPercentile, 99.9).high, 2);
}

// The definition by the letter: each cut, its steps written out, both distributions, their divergence.
size_t by_definition(const std::vector<int64_t>& given, size_t levels) {
  std::vector<double> counts(given.begin(), given.end());
  counts[0] = counts[1];
  size_t best = counts.size();
  double least = HUGE_VAL;
  for (size_t bins = levels; bins <= counts.size(); ++bins) {
    std::vector<double> p(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(bins));
    std::vector<double> q(bins);
    for (size_t level = 0; level < levels; ++level) {
      double held = 0;
      double used = 0;
      for (size_t i = 0; i < bins; ++i) {
        // Bin i belongs to the last level that begins at or before it.
        size_t owner = 0;
        while ((owner + 1) * bins / levels <= i) ++owner;
        if (owner != level) continue;
        held += p[i];
        used += p[i] > 0 ? 1 : 0;
      }
      for (size_t i = level * bins / levels; i < (level + 1) * bins / levels; ++i) q[i] = p[i] > 0 ? held / used : 0;
    }
    for (size_t i = bins; i < counts.size(); ++i) p.back() += counts[i];
    double p_sum = 0;
    double q_sum = 0;
    for (size_t i = 0; i < bins; ++i) {
      p_sum += p[i];
      q_sum += q[i];
    }
    double sum = 0;
    for (size_t i = 0; i < bins; ++i) {
      if (p[i] > 0) sum += p[i] / p_sum * std::log((p[i] / p_sum) / (q[i] / q_sum));
    }
    if (sum < least) {
      least = sum;
      best = bins;
    }
  }
  return best;
}

TEST(Entropy, IsItsDefinition) {
  const unsigned seed = testing::new_seed();
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  for (int turn = 0; turn < 8; ++turn) {
    const double spread = std::uniform_real_distribution<>(10, 60)(random);
    std::vector<int64_t> counts(160);
    std::normal_distribution<> normal(0, spread);
    for (int i = 0; i < 20'000; ++i) {
      const double at = std::fabs(normal(random));
      if (at < 160) ++counts[static_cast<size_t>(at)];
    }
    ++counts[159];
    EXPECT_EQ(entropy_bins(counts, 32), by_definition(counts, 32));
  }
}

TEST(Entropy, KeepsAllOfAnEvenDistribution) { EXPECT_EQ(entropy_bins(std::vector<int64_t>(2048, 100), 128), 2048u); }

TEST(Entropy, CutsALongThinTail) {
  std::vector<int64_t> counts(2048, 0);
  for (size_t i = 0; i < 512; ++i) {
    const double x = static_cast<double>(i) / 120;
    counts[i] = static_cast<int64_t>(1e7 * std::exp(-x * x / 2));
  }
  counts[2000] = 1;
  EXPECT_LT(entropy_bins(counts, 128), 640u);
  EXPECT_GT(entropy_bins(counts, 128), 300u);
}

TEST(Entropy, ZerosOfAReluDoNotDecide) {
  std::vector<int64_t> counts(2048, 100);
  counts[0] = 100'000'000;
  EXPECT_EQ(entropy_bins(counts, 128), 2048u);
}

TEST(Entropy, FewBinsAreAllKept) { EXPECT_EQ(entropy_bins({1, 2, 3}, 128), 3u); }

TEST(Histogram, EntropyCutsTheSameOnBothSidesWithinTheRange) {
  std::vector<float> numbers;
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 1);
  for (int i = 0; i < 100'000; ++i) numbers.push_back(normal(random));
  numbers.push_back(60);
  const Range range = histogram_of(numbers).range(Method::kEntropy, 0);
  EXPECT_LT(range.high, 30);
  EXPECT_GT(range.high, 2);
  EXPECT_LT(range.low, -2);
  EXPECT_GE(range.low, -range.high);
}

}  // namespace
}  // namespace berth::quantize
