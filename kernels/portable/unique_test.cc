// unique, against sorting and counting with the standard library.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "kernels/portable/kernel_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

struct Found {
  Array rows, first, inverse, counts;
};

Found find(const Array& x, bool sorted) {
  const int32_t count = x.sizes()[0];
  const auto dynamic = [](DType type, std::vector<int32_t> sizes) {
    return Array(type, std::move(sizes), {}, {}, ShapeDynamism::kBounded);
  };
  Found f = {dynamic(x.tensor().dtype(), x.sizes()), dynamic(DType::kI64, {count}), i64({count}),
             dynamic(DType::kI64, {count})};
  EXPECT_EQ(run(unique_out, {x, sorted, f.rows, f.first, f.inverse, f.counts}), Error::kOk);
  return f;
}

TEST(Unique, RandomRowsAreThoseThatAMapHolds) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    const int32_t count = static_cast<int32_t>(random() % 40);
    const int32_t width = 1 + static_cast<int32_t>(random() % 3);
    std::vector<double> numbers(count * width);
    for (double& number : numbers) number = static_cast<double>(random() % 3) - 1;
    const auto row = [&](size_t i) {
      return std::vector<double>(numbers.begin() + i * width, numbers.begin() + (i + 1) * width);
    };
    for (const bool sorted : {true, false}) {
      std::map<std::vector<double>, std::pair<size_t, int64_t>> groups;  // where it first stands, how often
      for (size_t i = 0; i < static_cast<size_t>(count); ++i) ++groups.try_emplace(row(i), i, 0).first->second.second;
      std::map<size_t, std::pair<std::vector<double>, int64_t>> ordered;
      size_t number = 0;
      for (const auto& [key, where] : groups) ordered[sorted ? number++ : where.first] = {key, where.second};
      const Found f = find(Array(DType::kF32, {count, width}, numbers), sorted);
      ASSERT_EQ(f.rows.sizes(), (std::vector<int32_t>{static_cast<int32_t>(ordered.size()), width})) << "seed 7";
      size_t k = 0;
      for (const auto& [place, group] : ordered) {
        const std::vector<double> found = f.rows.values();
        EXPECT_EQ(std::vector<double>(found.begin() + k * width, found.begin() + (k + 1) * width), group.first);
        EXPECT_EQ(f.first.integers()[k], static_cast<int64_t>(groups[group.first].first));
        EXPECT_EQ(f.counts.integers()[k], group.second);
        for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
          EXPECT_EQ(f.inverse.integers()[i] == static_cast<int64_t>(k), row(i) == group.first);
        }
        ++k;
      }
      EXPECT_TRUE(f.inverse.intact());
    }
  }
}

TEST(Unique, WhatIsNotANumberIsOne) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Found f = find(f32({4, 1}, {nan, 1, nan, -0.0}), true);
  ASSERT_EQ(f.rows.sizes()[0], 3);
  EXPECT_EQ(f.rows.values()[0], 0);
  EXPECT_TRUE(std::isnan(f.rows.values()[2]));
  EXPECT_EQ(f.counts.integers(), (std::vector<int64_t>{1, 1, 2}));
}

// A file may lay the memories over one another: what comes out is nonsense, but within its bounds.
TEST(Unique, OverlappingMemoryStaysWithinBounds) {
  const Array all = i64({8, 1}, {7, 900, -5, 3, 3, 1000000, 2, 1});
  const Array other = Array(DType::kI64, {8}, {}, {}, ShapeDynamism::kBounded);
  const Array rows = Array(DType::kI64, {8, 1}, {}, {}, ShapeDynamism::kBounded);
  other.tensor().set_data(all.tensor().data<void>());
  run(unique_out, {all, false, rows, other, i64({8}), other});
  EXPECT_TRUE(all.intact() && rows.intact());
}

TEST(Unique, RefusesWhatIsNotRows) {
  EXPECT_NE(run(unique_out, {f32({2}), true, f32({2}), i64({2}), i64({2}), i64({2})}), Error::kOk);
  EXPECT_NE(run(unique_out, {f32({2, 1}), true, f32({2, 1}), i32({2}), i64({2}), i64({2})}), Error::kOk);
}

}  // namespace
}  // namespace berth::portable
