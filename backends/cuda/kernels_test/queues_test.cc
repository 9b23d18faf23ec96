// What the kernels of a device have and the portable ones have not: faults that are found there, and sizes over which
// several threads share a row.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "kernels/portable/kernel_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

Array f64(std::vector<int32_t> sizes, std::vector<double> values = {}) {
  return Array(DType::kF64, std::move(sizes), std::move(values));
}

TEST(CudaQueues, AnIndexOutOfRangeIsReportedAndTheOthersAreRead) {
  const Array out = f32({3});
  EXPECT_EQ(run(index_select_out, {f32({4}, {1, 2, 3, 4}), 0, i64({3}, {3, 4, 0}), out}), Error::kInvalidArgument);
  EXPECT_EQ(out.values(), (std::vector<double>{4, 0, 1}));
  EXPECT_EQ(run(index_select_out, {f32({4}, {1, 2, 3, 4}), 0, i64({3}, {3, 2, 0}), out}), Error::kOk) << "only once";
}

TEST(CudaQueues, IntegerDivisionByZeroIsReported) {
  const Array out = i64({3});
  EXPECT_EQ(run(floor_divide_out, {i64({3}, {7, 8, -9}), i64({3}, {2, 0, 2}), out}), Error::kInvalidArgument);
  EXPECT_EQ(out.values(), (std::vector<double>{3, 0, -5}));
}

// Rows of 1 to 1000 elements are folded by 1 to 256 threads; sums of small whole numbers are exact in any order.
TEST(CudaQueues, RowsOfEveryLengthAreReducedWhole) {
  constexpr uint32_t kSeed = 20261121;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  std::uniform_int_distribution<int> small(-8, 8);
  for (const int length : {1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 255, 256, 257, 511, 1000}) {
    for (const int rows : {1, 3, 9}) {
      std::vector<double> values(length * rows);
      for (double& x : values) x = small(random);
      std::vector<double> sums, firsts;
      for (int r = 0; r < rows; ++r) {
        const auto begin = values.begin() + r * length;
        sums.push_back(std::accumulate(begin, begin + length, 0.0));
        firsts.push_back(static_cast<double>(std::max_element(begin, begin + length) - begin));
      }
      const Array x = f32({rows, length}, values);
      const Array sum = f32({rows});
      ASSERT_EQ(run(sum_IntList_out, {x, std::vector<int64_t>{1}, false, nullptr, sum}), Error::kOk);
      EXPECT_EQ(sum.values(), sums) << rows << " of " << length;
      const Array index = i64({rows});
      ASSERT_EQ(run(argmax_out, {x, 1, false, index}), Error::kOk);
      EXPECT_EQ(index.values(), firsts) << rows << " of " << length;
    }
  }
}

// A single row of many elements is folded in parts: whole, with the first of equal places, and NaN where one is.
TEST(CudaQueues, LongRowsAreReducedInParts) {
  constexpr uint32_t kSeed = 20261127;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  for (const int length : {8191, 8192, 8193, 12289, 50000}) {
    for (const int rows : {1, 3}) {
      SCOPED_TRACE(::testing::Message() << rows << " of " << length);
      std::vector<double> values(length * rows);
      for (double& x : values) x = static_cast<double>(random() % 17) - 8;
      std::vector<double> sums, firsts, variances;
      for (int r = 0; r < rows; ++r) {
        const auto begin = values.begin() + r * length;
        sums.push_back(std::accumulate(begin, begin + length, 0.0));
        firsts.push_back(static_cast<double>(std::max_element(begin, begin + length) - begin));
        const double mean = sums.back() / length;
        double squares = 0;
        for (int i = 0; i < length; ++i) squares += (begin[i] - mean) * (begin[i] - mean);
        variances.push_back(squares / length);
      }
      const Array x = f64({rows, length}, values);
      const Array out = f64({rows});
      const std::vector<int64_t> columns{1};
      ASSERT_EQ(run(sum_IntList_out, {x, columns, false, nullptr, out}), Error::kOk);
      EXPECT_EQ(out.values(), sums);
      const Array index = i64({rows});
      ASSERT_EQ(run(argmax_out, {x, 1, false, index}), Error::kOk);
      EXPECT_EQ(index.values(), firsts);
      ASSERT_EQ(run(var_out, {x, columns, false, false, out}), Error::kOk);
      for (int r = 0; r < rows; ++r) EXPECT_NEAR(out.values()[r], variances[r], 1e-12 * variances[r]);
      values.back() = NAN;
      x.set(values);
      ASSERT_EQ(run(amax_out, {x, columns, false, out}), Error::kOk);
      EXPECT_TRUE(std::isnan(out.values().back()));
    }
  }
}

// Sums along long lines are made in parts, in place too; of whole numbers they wrap.
TEST(CudaQueues, LongLinesAreSummedInParts) {
  constexpr uint32_t kSeed = 5;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  for (const int length : {4095, 4096, 4097, 70000}) {
    SCOPED_TRACE(length);
    std::vector<double> values(2 * length), sums(2 * length);
    for (double& x : values) x = static_cast<double>(random() % 17) - 8;
    for (int line = 0; line < 2; ++line) {
      double sum = 0;
      for (int i = 0; i < length; ++i) sums[i * 2 + line] = sum += values[i * 2 + line];
    }
    for (const Array& x : {f64({length, 2}, values), i64({length, 2}, values)}) {
      ASSERT_EQ(run(cumsum_out, {x, 0, nullptr, x}), Error::kOk);
      EXPECT_TRUE(x.values() == sums);
    }
  }
}

// Many rows whose elements lie apart get a thread each.
TEST(CudaQueues, ManyColumnsGetAThreadEach) {
  const Array x = f32({3, 5000});
  std::vector<double> values, sums;
  for (int i = 0; i < 15000; ++i) values.push_back(i % 97);
  for (size_t i = 0; i < 5000; ++i) sums.push_back(values[i] + values[i + 5000] + values[i + 10000]);
  x.set(values);
  const Array sum = f32({5000});
  ASSERT_EQ(run(sum_IntList_out, {x, std::vector<int64_t>{0}, false, nullptr, sum}), Error::kOk);
  EXPECT_EQ(sum.values(), sums);
}

TEST(CudaQueues, SoftmaxOfRowsOfInfinities) {
  const double infinity = INFINITY;
  const Array x = f32({4, 4}, {-infinity, 0, -infinity, 0, -infinity, -infinity, -infinity, -infinity,  //
                               1, NAN, 2, 3, 1, infinity, 2, 3});
  const Array out = f32({4, 4});
  ASSERT_EQ(run(softmax_out, {x, 1, false, out}), Error::kOk);
  const std::vector<double> y = out.values();
  EXPECT_EQ(std::vector<double>(y.begin(), y.begin() + 4), (std::vector<double>{0, 0.5, 0, 0.5}));
  for (size_t i = 4; i < 16; ++i) EXPECT_TRUE(std::isnan(y[i])) << i;
}

// A place that a scatter names twice has what the later index put there, as on the host.
TEST(CudaQueues, TheLastScatterToAnElementWins) {
  const Array out = f32({4});
  ASSERT_EQ(run(scatter_src_out, {f32({4}, {9, 9, 9, 9}), 0, i64({4}, {1, 1, 2, 1}), f32({4}, {1, 2, 3, 4}), out}),
            Error::kOk);
  EXPECT_EQ(out.values(), (std::vector<double>{9, 4, 3, 9}));
  ASSERT_EQ(run(scatter_add_out, {f32({4}, {0, 0, 0, 0}), 0, i64({4}, {1, 1, 2, 1}), f32({4}, {1, 2, 3, 4}), out}),
            Error::kOk);
  EXPECT_EQ(out.values(), (std::vector<double>{0, 7, 3, 0}));
}

}  // namespace
}  // namespace berth::portable
