// Reductions, scans and their indices. Expected values are by hand, or from plain loops in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "kernels/portable/kernel_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;
using Dims = std::vector<int64_t>;

Values random_up_to_ten(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  Values values(count);
  for (double& value : values) value = static_cast<double>(random() % 2001) / 100 - 10;
  return values;
}

// The groups of elements that each output of a reduction is made of, both in row-major order.
std::vector<Values> groups_of(const Array& x, uint32_t mask) {
  const Values values = x.values();
  const Shape sizes = x.sizes();
  size_t outputs = 1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if ((mask >> d & 1u) == 0) outputs *= static_cast<size_t>(sizes[d]);
  }
  std::vector<Values> groups(outputs);
  for (size_t i = 0; i < values.size(); ++i) {
    size_t rest = i;
    size_t output = 0;
    size_t stride = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
      const size_t at = rest % static_cast<size_t>(sizes[d]);
      rest /= static_cast<size_t>(sizes[d]);
      if ((mask >> d & 1u) != 0) continue;
      output += at * stride;
      stride *= static_cast<size_t>(sizes[d]);
    }
    groups[output].push_back(values[i]);
  }
  return groups;
}

struct ReduceCase {
  Shape sizes;
  std::vector<uint8_t> order;
  uint32_t mask;
};

// Every set of dimensions of tensors that are long and short, row-major and not.
std::vector<ReduceCase> all_cases() {
  std::vector<ReduceCase> cases;
  const std::vector<ReduceCase> shapes = {
      {{2, 3, 4, 5}, {}, 0}, {{2, 3, 4, 5}, {0, 2, 3, 1}, 0}, {{1, 70, 9, 6}, {0, 2, 3, 1}, 0}, {{3, 600}, {}, 0},
      {{300, 7}, {}, 0},     {{7, 300}, {1, 0}, 0},           {{2, 150, 1, 3}, {3, 1, 0, 2}, 0}};
  for (const ReduceCase& shape : shapes) {
    for (uint32_t mask = 1; mask < uint32_t{1} << shape.sizes.size(); ++mask) {
      cases.push_back({shape.sizes, shape.order, mask});
    }
  }
  return cases;
}

Dims dims_of(uint32_t mask) {
  Dims dims;
  for (int64_t d = 0; d < 16; ++d) {
    if ((mask >> d & 1u) != 0) dims.push_back(d);
  }
  return dims;
}

Shape reduced(const Shape& sizes, uint32_t mask, bool keepdim) {
  Shape result;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if ((mask >> d & 1u) == 0) result.push_back(sizes[d]);
    if ((mask >> d & 1u) != 0 && keepdim) result.push_back(1);
  }
  return result;
}

void expect_reductions(DType dtype, double tolerance) {
  uint32_t seed = 1;
  for (const ReduceCase& c : all_cases()) {
    size_t count = 1;
    for (const int32_t size : c.sizes) count *= size;
    const Array x(dtype, c.sizes, random_up_to_ten(count, seed), c.order);
    const bool keepdim = seed % 2 == 0;
    const Array out(dtype, reduced(c.sizes, c.mask, keepdim));
    const int threads = 1 + static_cast<int>(seed % 3);
    const auto expect = [&](const char* name, const std::function<double(const Values&)>& exact) {
      const std::vector<Values> groups = groups_of(x, c.mask);
      const Values actual = out.values();
      ASSERT_TRUE(out.intact());
      for (size_t i = 0; i < actual.size(); ++i) {
        const double wanted = exact(groups[i]);
        ASSERT_NEAR(actual[i], wanted, tolerance * (std::fabs(wanted) + 1))
            << name << " " << to_string(dtype) << " seed " << seed << " mask " << c.mask << " output " << i;
      }
    };
    const auto sum = [](const Values& v) { return std::accumulate(v.begin(), v.end(), 0.0); };
    const auto mean = [&](const Values& v) { return sum(v) / static_cast<double>(v.size()); };
    const Dims dims = dims_of(c.mask);
    ASSERT_EQ(run_with(sum_IntList_out, {x, dims, keepdim, nullptr, out}, threads).error, Error::kOk);
    expect("sum", sum);
    ASSERT_EQ(run_with(mean_out, {x, dims, keepdim, nullptr, out}, threads).error, Error::kOk);
    expect("mean", mean);
    ASSERT_EQ(run_with(amax_out, {x, dims, keepdim, out}, threads).error, Error::kOk);
    expect("amax", [](const Values& v) { return *std::max_element(v.begin(), v.end()); });
    ASSERT_EQ(run_with(amin_out, {x, dims, keepdim, out}, threads).error, Error::kOk);
    expect("amin", [](const Values& v) { return *std::min_element(v.begin(), v.end()); });
    ASSERT_EQ(run_with(var_correction_out, {x, dims, 0, keepdim, out}, threads).error, Error::kOk);
    expect("var", [&](const Values& v) {
      const double middle = mean(v);
      double squares = 0;
      for (const double value : v) squares += (value - middle) * (value - middle);
      return squares / static_cast<double>(v.size());
    });
    ++seed;
  }
}

TEST(Reduce, EveryDimensionAndLayoutOfF32) { expect_reductions(DType::kF32, 1e-5); }
TEST(Reduce, EveryDimensionAndLayoutOfF64) { expect_reductions(DType::kF64, 1e-13); }
TEST(Reduce, EveryDimensionAndLayoutOfF16) { expect_reductions(DType::kF16, 1e-3); }

TEST(Reduce, IndicesOfTheFirstExtreme) {
  uint32_t seed = 1;
  for (const ReduceCase& c : all_cases()) {
    const Dims dims = dims_of(c.mask);
    if (dims.size() != 1) continue;
    for (const DType dtype : {DType::kF32, DType::kI32, DType::kF64}) {
      size_t count = 1;
      for (const int32_t size : c.sizes) count *= size;
      Values values = random_up_to_ten(count, seed++);
      for (double& value : values) value = std::floor(value);  // so that there are ties
      const Array x(dtype, c.sizes, values, c.order);
      const Array largest(dtype, reduced(c.sizes, c.mask, false));
      const Array index = i64(reduced(c.sizes, c.mask, false));
      const std::vector<Values> groups = groups_of(x, c.mask);
      ASSERT_EQ(run(max_dim_max, {x, dims[0], false, largest, index}), Error::kOk);
      Values found = largest.values();
      std::vector<int64_t> places = index.integers();
      for (size_t i = 0; i < groups.size(); ++i) {
        const auto best = std::max_element(groups[i].begin(), groups[i].end());
        ASSERT_EQ(found[i], *best);
        ASSERT_EQ(places[i], best - groups[i].begin()) << "mask " << c.mask << " output " << i;
      }
      ASSERT_EQ(run(argmin_out, {x, dims[0], false, index}), Error::kOk);
      places = index.integers();
      for (size_t i = 0; i < groups.size(); ++i) {
        const auto best = std::min_element(groups[i].begin(), groups[i].end());
        ASSERT_EQ(places[i], best - groups[i].begin());
      }
    }
  }
}

TEST(Reduce, ExtremesAndTheirIndicesKeepNaN) {
  for (const int32_t count : {4, 100}) {
    Values values(count, 1);
    values[1] = kNaN;
    values[2] = 2;
    values[3] = kNaN;
    const Array x = f32({count}, values);
    const Array out = f32({});
    const Array index = i64({});
    for (const Kernel kernel : std::initializer_list<Kernel>{max_unary_out, min_unary_out}) {
      ASSERT_EQ(run(kernel, {x, out}), Error::kOk);
      EXPECT_TRUE(std::isnan(out.values()[0]));
    }
    for (const Kernel kernel : std::initializer_list<Kernel>{argmax_out, argmin_out}) {
      ASSERT_EQ(run(kernel, {x, nullptr, false, index}), Error::kOk);
      EXPECT_EQ(index.integers()[0], 1);
    }
    ASSERT_EQ(run(max_dim_max, {x, 0, false, out, index}), Error::kOk);
    EXPECT_TRUE(std::isnan(out.values()[0]));
    EXPECT_EQ(index.integers()[0], 1);
  }
}

// Rows are read many at a time. The fear: one takes another's elements or state, above all where blocks end.
TEST(Reduce, ManyRowsStayApart) {
  constexpr int32_t kPlanes = 2, kRows = 300, kElements = 20;
  Values values(kPlanes * kRows * kElements);
  Values sums(kPlanes * kRows, 0), largest(kPlanes * kRows, -1e9);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(i * 7919 % 1009) - 500;
    sums[i / kElements] += values[i];
    largest[i / kElements] = std::max(largest[i / kElements], values[i]);
  }
  const Array x = f32({kPlanes, kRows, kElements}, values);
  const Array out = f32({kPlanes, kRows});
  ASSERT_EQ(run(sum_IntList_out, {x, Dims{2}, false, nullptr, out}), Error::kOk);
  EXPECT_EQ(out.values(), sums);
  ASSERT_EQ(run(amax_out, {x, Dims{-1}, false, out}), Error::kOk);
  EXPECT_EQ(out.values(), largest);
}

TEST(Reduce, ColumnsKeepNaN) {
  const Array x = f32({3, 4}, {1, kNaN, 3, 4, 5, 6, kNaN, 2, 0, 9, 9, kNaN});
  const Array out = f32({4});
  const Array index = i64({4});
  ASSERT_EQ(run(max_dim_max, {x, 0, false, out, index}), Error::kOk);
  EXPECT_EQ(index.values(), (Values{1, 0, 1, 2}));
  EXPECT_EQ(out.values()[0], 5);
  for (size_t i = 1; i < 4; ++i) EXPECT_TRUE(std::isnan(out.values()[i]));
  ASSERT_EQ(run(amin_out, {x, Dims{0}, false, out}), Error::kOk);
  EXPECT_EQ(out.values()[0], 0);
  for (size_t i = 1; i < 4; ++i) EXPECT_TRUE(std::isnan(out.values()[i]));
}

TEST(Reduce, NothingToReduceHasItsOwnResults) {
  const Array none = f32({0});
  const Array out = f32({});
  ASSERT_EQ(run(sum_IntList_out, {none, nullptr, false, nullptr, out}), Error::kOk);
  EXPECT_EQ(out.values()[0], 0);
  ASSERT_EQ(run(prod_out, {none, nullptr, out}), Error::kOk);
  EXPECT_EQ(out.values()[0], 1);
  ASSERT_EQ(run(mean_out, {none, nullptr, false, nullptr, out}), Error::kOk);
  EXPECT_TRUE(std::isnan(out.values()[0]));
  ASSERT_EQ(run(any_all_out, {none, boolean({})}), Error::kOk);
  EXPECT_EQ(run(amax_out, {none, Dims{}, false, out}), Error::kInvalidArgument);
  EXPECT_EQ(run(argmax_out, {none, nullptr, false, i64({})}), Error::kInvalidArgument);
  EXPECT_EQ(run(max_unary_out, {none, out}), Error::kInvalidArgument);
  EXPECT_EQ(run(amax_out, {f32({0, 3}), Dims{1}, false, f32({0})}), Error::kOk);
  EXPECT_EQ(run(amax_out, {f32({0, 3}), Dims{0}, false, f32({3})}), Error::kInvalidArgument);
}

TEST(Reduce, ScalarsReduceAlongTheirNominalDimension) {
  const Array x = f32({}, {3});
  const Array out = f32({});
  const Array index = i64({});
  ASSERT_EQ(run(max_dim_max, {x, -1, false, out, index}), Error::kOk);
  EXPECT_EQ(out.values()[0], 3);
  EXPECT_EQ(index.integers()[0], 0);
  ASSERT_EQ(run(sum_IntList_out, {x, Dims{0}, true, nullptr, out}), Error::kOk);
  EXPECT_EQ(out.values()[0], 3);
}

TEST(Reduce, DimensionsAreChecked) {
  const Array x = f32({2, 2}, {1, 2, 3, 4});
  const Array out = f32({});
  EXPECT_EQ(run(sum_IntList_out, {x, Dims{0, -2}, false, nullptr, out}), Error::kInvalidArgument);
  EXPECT_EQ(run(sum_IntList_out, {x, Dims{2}, false, nullptr, out}), Error::kInvalidArgument);
  EXPECT_EQ(run(amax_out, {x, Dims{INT64_MIN}, false, out}), Error::kInvalidArgument);
  ASSERT_EQ(run(sum_IntList_out, {x, Dims{}, false, nullptr, out}), Error::kOk);
  EXPECT_EQ(out.values()[0], 10);
}

TEST(Reduce, SumsOfIntegersAreWide) {
  const Array out = i64({});
  ASSERT_EQ(run(sum_IntList_out, {Array(DType::kU8, {2}, {255, 255}), nullptr, false, nullptr, out}), Error::kOk);
  EXPECT_EQ(out.integers()[0], 510);
  ASSERT_EQ(run(sum_IntList_out, {boolean({2}, {1, 1}), nullptr, false, nullptr, out}), Error::kOk);
  EXPECT_EQ(out.integers()[0], 2);
  // Elements are cast to the dtype before they are added.
  const int i32_number = static_cast<int>(DType::kI32);
  const Array whole = i32({});
  ASSERT_EQ(run(sum_IntList_out, {f32({2}, {1.7, 1.7}), nullptr, false, i32_number, whole}), Error::kOk);
  EXPECT_EQ(whole.integers()[0], 2);
  EXPECT_EQ(run(mean_out, {i64({1}, {1}), nullptr, false, nullptr, f32({})}), Error::kInvalidArgument);
  const Array mean = f32({});
  ASSERT_EQ(run(mean_out, {i64({2}, {1, 2}), nullptr, false, static_cast<int>(DType::kF32), mean}), Error::kOk);
  EXPECT_EQ(mean.values()[0], 1.5);
  EXPECT_EQ(run(sum_IntList_out, {i64({1}, {1}), nullptr, false, 99, out}), Error::kInvalidArgument);
}

TEST(Reduce, SumsOfManyFloatsLoseLittle) {
  const int32_t count = 1 << 20;
  const Array x = f32({count}, Values(count, 0.1));
  const Array out = f32({});
  ASSERT_EQ(run(sum_IntList_out, {x, nullptr, false, nullptr, out}), Error::kOk);
  const double exact = static_cast<double>(0.1f) * count;
  EXPECT_NEAR(out.values()[0], exact, exact * 3e-7);
}

TEST(Any, EmptyListsReduceNothing) {
  const Array x = i64({2, 2}, {2, 0, 0, 0});
  const Array out = boolean({2, 2});
  ASSERT_EQ(run(any_dims_out, {x, Dims{}, false, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{1, 0, 0, 0}));
  const Array all = boolean({});
  ASSERT_EQ(run(any_dims_out, {x, nullptr, false, all}), Error::kOk);
  EXPECT_EQ(all.values(), (Values{1}));
  const Array rows = boolean({2});
  ASSERT_EQ(run(any_out, {f32({2, 2}, {kNaN, 0, 0, 0}), 1, false, rows}), Error::kOk);
  EXPECT_EQ(rows.values(), (Values{1, 0}));
}

TEST(Prod, ReducesADimension) {
  const Array out = f32({2});
  ASSERT_EQ(run(prod_int_out, {f32({2, 3}, {1, 2, 3, 4, 5, 6}), 1, false, nullptr, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{6, 120}));
}

TEST(Variance, CorrectionMayExceedTheCount) {
  const Array x = f32({3}, {1, 2, 4});
  const Array out = f32({});
  const auto var = [&](Arg correction) {
    EXPECT_EQ(run(var_correction_out, {x, nullptr, correction, false, out}), Error::kOk);
    return out.values()[0];
  };
  EXPECT_NEAR(var(nullptr), 7.0 / 3, 1e-6);
  EXPECT_NEAR(var(1.5), 28.0 / 9, 1e-6);
  EXPECT_EQ(var(3), kInfinity);
  EXPECT_EQ(var(5), kInfinity);
  ASSERT_EQ(run(var_out, {f32({1}, {1}), nullptr, true, false, out}), Error::kOk);
  EXPECT_TRUE(std::isnan(out.values()[0]));
  const Array mean = f32({});
  ASSERT_EQ(run(var_mean_correction_out, {x, nullptr, 0, false, out, mean}), Error::kOk);
  EXPECT_NEAR(out.values()[0], 14.0 / 9, 1e-6);
  EXPECT_NEAR(mean.values()[0], 7.0 / 3, 1e-6);
  EXPECT_EQ(run(var_out, {i64({2}, {1, 2}), nullptr, true, false, out}), Error::kInvalidArgument);
}

TEST(Variance, OfNumbersFarFromZero) {
  Values values(1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 10000 + static_cast<double>(i % 2);
  const Array out = f32({});
  ASSERT_EQ(run(var_correction_out, {f32({1000}, values), nullptr, 0, false, out}), Error::kOk);
  EXPECT_NEAR(out.values()[0], 0.25, 1e-5);
}

// Lines that lie beside each other are summed a row of them at a time.
TEST(Cumsum, LinesBesideEachOtherAreSummedEachByItself) {
  constexpr int kOuter = 3, kSteps = 7, kWidth = 300;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kI32, DType::kF64, DType::kU8}) {
    const bool bytes = dtype == DType::kU8;
    std::vector<double> numbers(kOuter * kSteps * kWidth);
    for (size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = static_cast<double>(i * 37 % 31) - (bytes ? 0 : 15);
    }
    const Array x(dtype, {kOuter, kSteps, kWidth}, numbers);
    const Array out(bytes ? DType::kI64 : dtype, {kOuter, kSteps, kWidth});
    ASSERT_EQ(run(cumsum_out, {x, 1, nullptr, out}), Error::kOk);
    std::vector<double> wanted = numbers;
    for (int i = 0; i < kOuter * kSteps * kWidth; ++i) {
      if (i / kWidth % kSteps > 0) wanted[i] += wanted[i - kWidth];
    }
    EXPECT_EQ(out.values(), wanted) << to_string(dtype);
    if (bytes) continue;
    ASSERT_EQ(run(cumsum_out, {x, 1, nullptr, x}), Error::kOk);
    EXPECT_EQ(x.values(), wanted) << to_string(dtype) << ", in place";
  }
}

TEST(Cumsum, AlongEachDimensionAndInPlace) {
  const Array x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  const Array out = f32({2, 3});
  ASSERT_EQ(run(cumsum_out, {x, 1, nullptr, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{1, 3, 6, 4, 9, 15}));
  ASSERT_EQ(run(cumsum_out, {x, 0, nullptr, x}), Error::kOk);
  EXPECT_EQ(x.values(), (Values{1, 2, 3, 5, 7, 9}));
  const Array long_row = i64({1000}, Values(1000, 1));
  const Array sums = i64({1000});
  ASSERT_EQ(run(cumsum_out, {long_row, 0, nullptr, sums}), Error::kOk);
  EXPECT_EQ(sums.values()[999], 1000);
  const Array counted = i64({2});
  ASSERT_EQ(run(cumsum_out, {boolean({2}, {1, 1}), 0, nullptr, counted}), Error::kOk);
  EXPECT_EQ(counted.values(), (Values{1, 2}));
  EXPECT_EQ(run(cumsum_out, {x, 2, nullptr, x}), Error::kInvalidArgument);
  const Array whole = i32({2});
  ASSERT_EQ(run(cumsum_out, {f32({2}, {1.5, 1.5}), 0, static_cast<int>(DType::kI32), whole}), Error::kOk);
  EXPECT_EQ(whole.values(), (Values{1, 2}));
}

TEST(Reduce, BoundedOutputsTakeTheReducedSizes) {
  const Array x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  const Array out(DType::kF32, {5}, {}, {}, ShapeDynamism::kBounded);
  ASSERT_EQ(run(sum_IntList_out, {x, Dims{1}, false, nullptr, out}), Error::kOk);
  EXPECT_EQ(out.sizes(), (Shape{2}));
  EXPECT_EQ(out.values(), (Values{6, 15}));
  EXPECT_EQ(run(sum_IntList_out, {x, Dims{1}, true, nullptr, out}), Error::kInvalidArgument);
}

// Along rows and along columns, with more elements than are converted at a time; half of them above 2^63.
TEST(Reduce, U64HasItsOwnOrder) {
  constexpr int32_t kRows = 3;
  constexpr int32_t kColumns = 700;
  std::mt19937_64 random(7);
  std::vector<int64_t> numbers(kRows * kColumns);
  for (int64_t& number : numbers) number = static_cast<int64_t>(random());
  const Array x(DType::kU64, {kRows, kColumns});
  x.set_integers(numbers);
  for (const int64_t dim : {0, 1}) {
    const int32_t kept = dim == 0 ? kColumns : kRows;
    const int32_t gone = dim == 0 ? kRows : kColumns;
    const Array largest(DType::kU64, {kept});
    const Array smallest(DType::kU64, {kept});
    const Array sums(DType::kU64, {kept});
    const Array also(DType::kU64, {kept});
    const Array where = i64({kept});
    const Array place = i64({kept});
    ASSERT_EQ(run(amax_out, {x, Dims{dim}, false, largest}), Error::kOk);
    ASSERT_EQ(run(amin_out, {x, Dims{dim}, false, smallest}), Error::kOk);
    ASSERT_EQ(run(sum_IntList_out, {x, Dims{dim}, false, static_cast<int64_t>(DType::kU64), sums}), Error::kOk);
    ASSERT_EQ(run(argmin_out, {x, dim, false, where}), Error::kOk);
    ASSERT_EQ(run(max_dim_max, {x, dim, false, also, place}), Error::kOk);
    for (int32_t i = 0; i < kept; ++i) {
      uint64_t high = 0;
      uint64_t low = UINT64_MAX;
      uint64_t sum = 0;
      int64_t at_low = 0;
      int64_t at_high = 0;
      for (int32_t k = 0; k < gone; ++k) {
        const auto number = static_cast<uint64_t>(numbers[dim == 0 ? k * kColumns + i : i * kColumns + k]);
        sum += number;
        if (number < low) at_low = k;
        if (number > high) at_high = k;
        low = std::min(low, number);
        high = std::max(high, number);
      }
      EXPECT_EQ(static_cast<uint64_t>(largest.integers()[i]), high);
      EXPECT_EQ(static_cast<uint64_t>(also.integers()[i]), high);
      EXPECT_EQ(static_cast<uint64_t>(smallest.integers()[i]), low);
      EXPECT_EQ(static_cast<uint64_t>(sums.integers()[i]), sum);
      EXPECT_EQ(where.integers()[i], at_low);
      EXPECT_EQ(place.integers()[i], at_high);
    }
  }
  EXPECT_EQ(run(sum_IntList_out, {x, Dims{0}, false, nullptr, i64({kColumns})}), Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth::portable
