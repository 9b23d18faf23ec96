#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/seeds_testing.h"
#include "kernels/portable/layout_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

TEST(Topk, FindsTheBestInOrder) {
  std::mt19937 random(11);
  for (const int32_t n : {1, 2, 7, 64, 300}) {
    Values row = numbered({n});
    std::shuffle(row.begin(), row.end(), random);
    for (const int32_t k : {1, 2, 5, n / 2, n}) {
      if (k > n) continue;
      for (const bool largest : {true, false}) {
        std::vector<size_t> order(row.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::sort(order.begin(), order.end(),
                  [&](size_t a, size_t b) { return largest ? row[a] > row[b] : row[a] < row[b]; });
        const Array values = f32({k});
        const Array indices = i64({k});
        ASSERT_EQ(run(topk_values, {f32({n}, row), k, -1, largest, true, values, indices}), Error::kOk);
        for (size_t i = 0; i < static_cast<size_t>(k); ++i) {
          EXPECT_EQ(indices.values()[i], static_cast<double>(order[i])) << "seed 11, n " << n << ", k " << k;
          EXPECT_EQ(values.values()[i], row[order[i]]);
        }
        EXPECT_TRUE(values.intact() && indices.intact());
      }
    }
  }
}

TEST(Topk, FindsTheBestAlongAnyDimension) {
  const Shape shape{3, 5, 4};
  Values values(60);
  for (size_t i = 0; i < 60; ++i) values[i] = static_cast<double>(i * 37 % 61);
  for (int dim = 0; dim < 3; ++dim) {
    const auto along = static_cast<size_t>(dim);
    Shape result = shape;
    result[along] = 2;
    // The element that `rank` others of its row beat.
    const auto ranked = [&](Ints at, bool index) {
      const int64_t rank = at[along];
      std::vector<std::pair<double, int64_t>> row;
      for (at[along] = 0; at[along] < shape[along]; ++at[along]) row.emplace_back(-values[flat(shape, at)], at[along]);
      std::sort(row.begin(), row.end());
      const auto& found = row[rank];
      return index ? static_cast<double>(found.second) : -found.first;
    };
    for (const Order& order : orders(3)) {
      for (const Order& out_order : orders(3)) {
        const Array best(DType::kF16, result, {}, out_order);
        const Array indices(DType::kI64, result, {}, order);
        const Array self(DType::kF16, shape, values, order);
        ASSERT_EQ(run_with(topk_values, {self, 2, dim, true, true, best, indices}, 3).error, Error::kOk);
        EXPECT_EQ(best.values(), filled(result, [&](const Ints& at) { return ranked(at, false); }));
        EXPECT_EQ(indices.values(), filled(result, [&](const Ints& at) { return ranked(at, true); }));
      }
    }
  }
}

TEST(Topk, TakesNaNForTheLargest) {
  const Array self = f32({5}, {std::nan(""), 1, kInfinity, -1, -kInfinity});
  const Array values = f32({3});
  const Array indices = i64({3});
  ASSERT_EQ(run(topk_values, {self, 3, 0, true, true, values, indices}), Error::kOk);
  EXPECT_EQ(indices.values(), (Values{0, 2, 1}));
  ASSERT_EQ(run(topk_values, {self, 3, 0, false, true, values, indices}), Error::kOk);
  EXPECT_EQ(indices.values(), (Values{4, 3, 1}));
  const Array all = f32({5});
  const Array places = i64({5});
  ASSERT_EQ(run(topk_values, {self, 5, 0, false, true, all, places}), Error::kOk);
  EXPECT_EQ(places.values(), (Values{4, 3, 1, 2, 0}));
}

TEST(Topk, TakesTheFirstOfEqualElements) {
  const Array values = f32({3});
  const Array indices = i64({3});
  ASSERT_EQ(run(topk_values, {f32({5}, {0, 1, -0.0, 1, 0}), 3, 0, true, true, values, indices}), Error::kOk);
  EXPECT_EQ(indices.values(), (Values{1, 3, 0}));
  ASSERT_EQ(run(topk_values, {f32({5}, {0, 1, -0.0, 1, 0}), 3, 0, false, true, values, indices}), Error::kOk);
  EXPECT_EQ(indices.values(), (Values{0, 2, 4}));
}

TEST(Topk, OrdersEveryDTypeToItsEnds) {
  const Array wide(DType::kU64, {3});
  wide.tensor().data<uint64_t>()[0] = 1;
  wide.tensor().data<uint64_t>()[1] = UINT64_MAX;
  wide.tensor().data<uint64_t>()[2] = uint64_t{1} << 63;
  const Array indices = i64({3});
  ASSERT_EQ(run(topk_values, {wide, 3, 0, true, true, Array(DType::kU64, {3}), indices}), Error::kOk);
  EXPECT_EQ(indices.values(), (Values{1, 2, 0}));
  const Array narrow = i64({3});
  narrow.set_integers({INT64_MIN, INT64_MAX, -1});
  ASSERT_EQ(run(topk_values, {narrow, 3, 0, true, true, i64({3}), indices}), Error::kOk);
  EXPECT_EQ(indices.values(), (Values{1, 2, 0}));
  ASSERT_EQ(run(topk_values, {boolean({3}, {0, 1, 1}), 3, 0, false, true, boolean({3}), indices}), Error::kOk);
  EXPECT_EQ(indices.values(), (Values{0, 1, 2}));
  const Array tiny(DType::kF64, {3}, {5e-324, -5e-324, 0});
  ASSERT_EQ(run(topk_values, {tiny, 3, 0, true, true, Array(DType::kF64, {3}), indices}), Error::kOk);
  EXPECT_EQ(indices.values(), (Values{0, 2, 1}));
}

// More than are kept on the stack: with ties, zeros of both signs and, where there are such, NaN.
TEST(Topk, FindsManyOfEveryDType) {
  const unsigned seed = new_seed();
  std::mt19937 random(seed);
  constexpr int32_t kSize = 300;
  for (const DType dtype : {DType::kU8, DType::kI8, DType::kI16, DType::kU16, DType::kI32, DType::kU32, DType::kI64,
                            DType::kU64, DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    const bool is_signed = dtype != DType::kU8 && dtype != DType::kU16 && dtype != DType::kU32 && dtype != DType::kU64;
    Values row(kSize);
    for (double& x : row) x = static_cast<double>(random() % 100) - (is_signed ? 50 : 0);
    if (is_floating(dtype)) {
      for (const double x : {-0.0, std::nan(""), -std::nan(""), kInfinity, -kInfinity}) row[random() % kSize] = x;
    }
    // NaN is larger than infinity.
    const auto larger = [&](size_t a, size_t b) { return std::isnan(row[a]) ? !std::isnan(row[b]) : row[a] > row[b]; };
    for (const bool largest : {true, false}) {
      std::vector<size_t> order(kSize);
      std::iota(order.begin(), order.end(), size_t{0});
      std::stable_sort(order.begin(), order.end(),
                       [&](size_t a, size_t b) { return largest ? larger(a, b) : larger(b, a); });
      for (const int32_t k : {33, 200, kSize}) {
        const Array values(dtype, {k}), indices = i64({k});
        ASSERT_EQ(run(topk_values, {Array(dtype, {kSize}, row), k, 0, largest, true, values, indices}), Error::kOk);
        for (int32_t i = 0; i < k; ++i) {
          ASSERT_EQ(indices.values()[i], static_cast<double>(order[i])) << "BERTH_SEED=" << seed << ", " << i;
        }
      }
    }
  }
}

TEST(Topk, RefusesImpossibleArguments) {
  const Array self = f32({3}, {1, 2, 3});
  for (const int64_t k : {int64_t{-1}, int64_t{4}, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(run(topk_values, {self, k, 0, true, true, f32({3}), i64({3})}), Error::kInvalidArgument);
  }
  EXPECT_EQ(run(topk_values, {self, 1, 1, true, true, f32({1}), i64({1})}), Error::kInvalidArgument);
  EXPECT_EQ(run(topk_values, {self, 1, 0, true, true, f32({1}), i32({1})}), Error::kInvalidArgument);
  EXPECT_EQ(run(topk_values, {self, 1, 0, true, true, i64({1}), i64({1})}), Error::kInvalidArgument);
  EXPECT_EQ(run(topk_values, {self, 0, 0, true, true, f32({0}), i64({0})}), Error::kOk);
  const Array value = f32({});
  const Array index = i64({});
  ASSERT_EQ(run(topk_values, {f32({}, {3}), 1, 0, true, true, value, index}), Error::kOk);
  EXPECT_EQ(value.values(), Values{3});
  EXPECT_EQ(index.values(), Values{0});
}

TEST(Topk, StaysInsideOverlappingTensors) {
  const Array self = i64({6}, {5, 1, 900000000000, 4, -7, 3});
  const Array values = i64({3});
  const Array indices = i64({3});
  values.tensor().set_data(indices.tensor().raw());
  EXPECT_EQ(run(topk_values, {self, 3, 0, true, true, values, indices}), Error::kOk);
  indices.tensor().set_data(self.tensor().raw());
  EXPECT_EQ(run(topk_values, {self, 3, 0, true, true, i64({3}), indices}), Error::kOk);
}

}  // namespace
}  // namespace berth::portable
