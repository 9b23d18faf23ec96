#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/portable/kernel_testing.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

template <auto kernel>
Error run_exact(std::vector<Arg> args, int threads = 1) {
  std::vector<EValue*> values;
  for (Arg& arg : args) values.push_back(arg.value());
  const size_t bytes = kTempBytes<kernel>(Span<EValue* const>(values.data(), values.size()), threads);
  return run_with(kernel, std::move(args), threads, bytes).error;
}

std::vector<double> small_integers(int64_t count, std::mt19937& random, int most = 4) {
  std::vector<double> numbers(count);
  for (double& x : numbers) x = std::uniform_int_distribution<int>(-most, most)(random);
  return numbers;
}

std::vector<double> reference(const std::vector<double>& a, const std::vector<double>& b, int m, int n, int k) {
  const auto at = [](int i, int j, int columns) {
    return static_cast<size_t>(i) * static_cast<size_t>(columns) + static_cast<size_t>(j);
  };
  std::vector<double> c(static_cast<size_t>(m) * static_cast<size_t>(n));
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      for (int l = 0; l < k; ++l) c[at(i, j, n)] += a[at(i, l, k)] * b[at(l, j, n)];
    }
  }
  return c;
}

struct ProductShape {
  int m, n, k;
};

const ProductShape kShapes[] = {{1, 1, 1},     {1, 1, 300},   {1, 130, 70},   {3, 64, 5},   {2, 65, 33},  {5, 129, 40},
                                {14, 32, 16},  {15, 33, 17},  {13, 31, 257},  {64, 48, 64}, {29, 16, 1},  {100, 7, 300},
                                {7, 300, 600}, {113, 260, 9}, {40, 600, 270}, {1, 5, 0},    {16, 1, 400}, {300, 3, 2}};

// Whole numbers, so that every order of the additions has the same result.
TEST(Mm, MatchesItsDefinitionForEveryShapeAndOrder) {
  std::mt19937 random(1);
  for (const ProductShape& s : kShapes) {
    for (int orders = 0; orders < 8; ++orders) {
      for (const int threads : {1, 3}) {
        SCOPED_TRACE(std::to_string(s.m) + " x " + std::to_string(s.n) + " x " + std::to_string(s.k) + " orders " +
                     std::to_string(orders) + " threads " + std::to_string(threads));
        const auto order = [&](int bit) {
          return (orders >> bit & 1) == 0 ? std::vector<uint8_t>{0, 1} : std::vector<uint8_t>{1, 0};
        };
        Array a(DType::kF32, {s.m, s.k}, {}, order(0));
        Array b(DType::kF32, {s.k, s.n}, {}, order(1));
        Array c(DType::kF32, {s.m, s.n}, {}, order(2));
        const std::vector<double> x = small_integers(s.m * s.k, random);
        const std::vector<double> y = small_integers(s.k * s.n, random);
        a.set(x);
        b.set(y);
        ASSERT_EQ(run_exact<&mm_out>({a, b, c}, threads), Error::kOk);
        ASSERT_EQ(c.values(), reference(x, y, s.m, s.n, s.k));
        ASSERT_TRUE(c.intact());
      }
    }
  }
}

TEST(Mm, AcceptsEveryDtypeAndIntegersWrap) {
  std::mt19937 random(2);
  for (const DType dtype : {DType::kF64, DType::kF16, DType::kBF16, DType::kU8, DType::kI8, DType::kI16, DType::kI32,
                            DType::kI64, DType::kU16, DType::kU32, DType::kU64}) {
    Array a(dtype, {33, 70});
    Array b(dtype, {70, 65});
    Array c(dtype, {33, 65});
    const bool is_unsigned =
        dtype == DType::kU8 || dtype == DType::kU16 || dtype == DType::kU32 || dtype == DType::kU64;
    std::vector<double> x = small_integers(33 * 70, random, 1);
    std::vector<double> y = small_integers(70 * 65, random, 1);
    for (std::vector<double>* values : {&x, &y}) {
      for (double& v : *values) v = is_unsigned ? std::fabs(v) : v;
    }
    a.set(x);
    b.set(y);
    ASSERT_EQ(run_exact<&mm_out>({a, b, c}, 2), Error::kOk) << to_string(dtype);
    EXPECT_EQ(c.values(), reference(x, y, 33, 65, 70)) << to_string(dtype);
  }
  const Array c(DType::kI8, {1, 1});
  ASSERT_EQ(run_exact<&mm_out>({Array(DType::kI8, {1, 2}, {100, 100}), Array(DType::kI8, {2, 1}, {2, 1}), c}),
            Error::kOk);
  EXPECT_EQ(c.values(), (std::vector<double>{44}));  // 300 - 256
}

TEST(Bmm, MultipliesEachMatrixOfTheBatch) {
  std::mt19937 random(3);
  for (const int threads : {1, 2, 5}) {
    Array a = f32({3, 20, 37});
    Array b = f32({3, 37, 50});
    Array c = f32({3, 20, 50});
    const std::vector<double> x = small_integers(3 * 20 * 37, random);
    const std::vector<double> y = small_integers(3 * 37 * 50, random);
    a.set(x);
    b.set(y);
    ASSERT_EQ(run_exact<&bmm_out>({a, b, c}, threads), Error::kOk);
    std::vector<double> expected;
    for (int i = 0; i < 3; ++i) {
      const std::vector<double> part =
          reference({x.begin() + i * 20 * 37, x.end()}, {y.begin() + i * 37 * 50, y.end()}, 20, 50, 37);
      expected.insert(expected.end(), part.begin(), part.end());
    }
    EXPECT_EQ(c.values(), expected);
  }
}

TEST(Addmm, BroadcastsSelfAndScales) {
  std::mt19937 random(4);
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kI32}) {
    for (const ProductShape& s : {ProductShape{5, 40, 300}, ProductShape{20, 33, 7}, ProductShape{1, 100, 50}}) {
      const std::vector<std::vector<int32_t>> kSelves = {{}, {1}, {s.n}, {1, s.n}, {s.m, 1}, {s.m, s.n}, {1, 1}};
      for (const std::vector<int32_t>& sizes : kSelves) {
        for (const std::vector<uint8_t>& order : {std::vector<uint8_t>{0, 1}, std::vector<uint8_t>{1, 0}}) {
          Array self(dtype, sizes, {}, sizes.size() == 2 ? order : std::vector<uint8_t>{});
          Array a(dtype, {s.m, s.k});
          Array b(dtype, {s.k, s.n});
          Array c(dtype, {s.m, s.n});
          const std::vector<double> z = small_integers(self.tensor().numel(), random);
          const std::vector<double> x = small_integers(s.m * s.k, random);
          const std::vector<double> y = small_integers(s.k * s.n, random);
          self.set(z);
          a.set(x);
          b.set(y);
          ASSERT_EQ(run_exact<&addmm_out>({self, a, b, -3, 2, c}), Error::kOk);
          std::vector<double> expected = reference(x, y, s.m, s.n, s.k);
          for (int i = 0; i < s.m; ++i) {
            for (int j = 0; j < s.n; ++j) {
              const bool per_row = sizes.size() == 2 && sizes[0] != 1;
              const bool per_column = !sizes.empty() && sizes.back() != 1;
              const int columns = per_column ? s.n : 1;
              const auto place = static_cast<size_t>((per_row ? i : 0) * columns + (per_column ? j : 0));
              double& e = expected[i * s.n + j];
              e = 2 * e - 3 * z[place];
            }
          }
          ASSERT_EQ(c.values(), expected) << "self of rank " << sizes.size();
        }
      }
    }
  }
}

TEST(Addmm, BetaZeroIgnoresNan) {
  const Array self = f32({2}, {std::nan(""), INFINITY});
  const Array c = f32({1, 2});
  ASSERT_EQ(run_exact<&addmm_out>({self, f32({1, 1}, {3}), f32({1, 2}, {4, 5}), 0, 1, c}), Error::kOk);
  EXPECT_EQ(c.values(), (std::vector<double>{12, 15}));
  ASSERT_EQ(run_exact<&addmm_out>({self, f32({1, 1}, {3}), f32({1, 2}, {4, 5}), 0.0, 0.5, c}), Error::kOk);
  EXPECT_EQ(c.values(), (std::vector<double>{6, 7.5}));
}

TEST(Addmm, SelfMayBeTheOutput) {
  std::mt19937 random(5);
  for (const ProductShape& s : {ProductShape{30, 70, 600}, ProductShape{3, 200, 90}}) {
    Array a = f32({s.m, s.k});
    Array b = f32({s.k, s.n});
    Array c = f32({s.m, s.n});
    const std::vector<double> x = small_integers(s.m * s.k, random);
    const std::vector<double> y = small_integers(s.k * s.n, random);
    const std::vector<double> z = small_integers(s.m * s.n, random);
    a.set(x);
    b.set(y);
    c.set(z);
    ASSERT_EQ(run_exact<&addmm_out>({c, a, b, 1, 1, c}, 2), Error::kOk);
    std::vector<double> expected = reference(x, y, s.m, s.n, s.k);
    for (size_t i = 0; i < expected.size(); ++i) expected[i] += z[i];
    EXPECT_EQ(c.values(), expected);
  }
}

TEST(Mm, ResultsDoNotDependOnTheNumberOfThreads) {
  std::mt19937 random(6);
  std::normal_distribution<double> draw;
  for (const ProductShape& s : kShapes) {
    Array a = f32({s.m, s.k});
    Array b = f32({s.k, s.n});
    for (const Array& array : {a, b}) {
      for (int64_t i = 0; i < array.tensor().numel(); ++i)
        array.tensor().data<float>()[i] = static_cast<float>(draw(random));
    }
    std::vector<double> first;
    for (const int threads : {1, 2, 3, 8}) {
      Array c = f32({s.m, s.n});
      ASSERT_EQ(run_exact<&mm_out>({a, b, c}, threads), Error::kOk);
      if (threads == 1) first = c.values();
      EXPECT_EQ(c.values(), first);
    }
  }
}

// The sizes come from a file, which may say anything.
TEST(Mm, RefusesTensorsThatDoNotMatch) {
  const size_t kTemp = 1 << 20;
  EXPECT_NE(run(mm_out, {f32({2, 3}), f32({4, 2}), f32({2, 2})}, kTemp), Error::kOk);
  EXPECT_NE(run(mm_out, {f32({2, 3}), f32({3}), f32({2, 2})}, kTemp), Error::kOk);
  EXPECT_NE(run(mm_out, {f32({}), f32({}), f32({})}, kTemp), Error::kOk);
  EXPECT_NE(run(mm_out, {f32({2, 3}), f32({3, 2}), f32({2, 3})}, kTemp), Error::kOk);
  EXPECT_NE(run(mm_out, {f32({2, 3}), i64({3, 2}), f32({2, 2})}, kTemp), Error::kOk);
  EXPECT_NE(run(mm_out, {boolean({2, 3}), boolean({3, 2}), boolean({2, 2})}, kTemp), Error::kOk);
  EXPECT_NE(run(bmm_out, {f32({2, 2, 3}), f32({1, 3, 2}), f32({2, 2, 2})}, kTemp), Error::kOk);
  EXPECT_NE(run(bmm_out, {f32({2, 3}), f32({3, 2}), f32({2, 2})}, kTemp), Error::kOk);
  EXPECT_NE(run(addmm_out, {f32({3}), f32({2, 3}), f32({3, 2}), 1, 1, f32({2, 2})}, kTemp), Error::kOk);
  EXPECT_NE(run(addmm_out, {f32({1, 2, 2}), f32({2, 3}), f32({3, 2}), 1, 1, f32({2, 2})}, kTemp), Error::kOk);
  EXPECT_NE(run(addmm_out, {f32({0}), f32({2, 3}), f32({3, 2}), 1, 1, f32({2, 2})}, kTemp), Error::kOk);
  Array nowhere = f32({2, 3});
  nowhere.tensor().set_data(nullptr);
  EXPECT_NE(run(mm_out, {nowhere, f32({3, 2}), f32({2, 2})}, kTemp), Error::kOk);
  EXPECT_EQ(run(mm_out, {f32({2, 3}), f32({3, 2}), f32({2, 2})}, 0), Error::kMemoryAllocationFailed);
  EXPECT_EQ(run(mm_out, {f32({0, 3}), f32({3, 2}), f32({0, 2})}, 0), Error::kOk);
}

}  // namespace
}  // namespace berth::portable
