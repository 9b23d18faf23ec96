// bmm and mm of f16 and bf16. The fears: a sum that is rounded on the way, an item at an edge, rows for columns, a
// factor of the item before, an element beyond either end, temporary memory that is too small for a smaller call.
#include <gtest/gtest.h>

#include <cmath>

#include "base/seeds_testing.h"
#include "kernels/cpu/guarded_testing.h"
#include "kernels/cpu/narrow_testing.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;

// How far a number of the type may lie from one that it was rounded from, relative to that.
double rounding_of(DType type) { return type == DType::kF16 ? 0x1p-11 : 0x1p-8; }

struct WideProduct {
  DType type;
  int32_t batches, rows, columns, depth;
  std::vector<uint8_t> orders[3];  // of a, b and c; mm: 0 and 1
  bool matrices = false;           // mm
};

Array numbers(std::mt19937& random, DType type, std::vector<int32_t> sizes, const std::vector<uint8_t>& order) {
  return as_type(random_array(random, std::move(sizes), order), type);
}

// The sums in double, and what they may be off by in f32.
void expect_rounded_once(const WideProduct& p, const Array& a, const Array& b, const Array& c) {
  const std::vector<double> x = a.values(), y = b.values(), found = c.values();
  const int64_t m = p.rows, n = p.columns, k = p.depth;
  for (int64_t i = 0; i < p.batches * m * n; ++i) {
    const int64_t batch = i / (m * n), row = i / n % m, column = i % n;
    double sum = 0, most = 0;
    for (int64_t l = 0; l < k; ++l) {
      const double product = x[(batch * m + row) * k + l] * y[(batch * k + l) * n + column];
      sum += product;
      most += std::fabs(product);
    }
    const double allowed = rounding_of(p.type) * std::fabs(sum) + most * 1e-6 + 1e-7;
    ASSERT_LE(std::fabs(found[i] - sum), allowed) << "element " << i << " of " << sum;
  }
}

void check(const WideProduct& p, std::mt19937& random, const std::vector<int>& threads) {
  const auto sizes = [&](int32_t rows, int32_t columns) {
    return p.matrices ? std::vector<int32_t>{rows, columns} : std::vector<int32_t>{p.batches, rows, columns};
  };
  GuardedMemory memory(random);
  const Array a = memory(numbers(random, p.type, sizes(p.rows, p.depth), p.orders[0]));
  const Array b = memory(numbers(random, p.type, sizes(p.depth, p.columns), p.orders[1]));
  for (const int count : threads) {
    for_each_simd_target([&](const char* target) {
      SCOPED_TRACE(std::to_string(p.batches) + " x " + std::to_string(p.rows) + " x " + std::to_string(p.columns) +
                   " x " + std::to_string(p.depth) + " on " + std::to_string(count) + " threads, " + target);
      const Array c = memory(Array(p.type, sizes(p.rows, p.columns), {}, p.orders[2]));
      const auto outcome = call_guarded(p.matrices ? "aten::mm.out" : "aten::bmm.out", {a, b, c}, {}, count, memory);
      ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
      expect_rounded_once(p, a, b, c);
    });
  }
}

TEST(WideProducts, ItemsOfEveryShape) {
  std::mt19937 random(1);
  const std::vector<uint8_t> plain = {0, 1, 2}, turned = {0, 2, 1}, inside = {1, 0, 2};
  // Many tiny ones, an item with several, one a product, blocks of rows, of columns, of both, a deep one.
  for (const auto& [batches, rows, columns, depth] : {std::array<int32_t, 4>{50, 3, 3, 3},
                                                      {33, 20, 19, 18},
                                                      {3, 100, 70, 60},
                                                      {1, 700, 20, 200},
                                                      {2, 1, 500, 300},
                                                      {1, 300, 280, 260},
                                                      {1, 70, 65, 2000},
                                                      {2, 5, 1, 7}}) {
    for (const DType type : {DType::kF16, DType::kBF16}) {
      check({type, batches, rows, columns, depth, {plain, plain, plain}}, random, {1, 3});
      check({type, batches, rows, columns, depth, {turned, turned, plain}}, random, {2});
      check({type, batches, rows, columns, depth, {inside, inside, turned}}, random, {1});
      check({type, 1, rows, columns, depth, {{0, 1}, {1, 0}, {0, 1}}, true}, random, {1});
    }
  }
}

TEST(WideProducts, RandomShapes) {
  testing::for_each_seed(60, [](unsigned seed) {
    std::mt19937 random(seed);
    const auto whole = [&](int32_t low, int32_t high) {
      return std::uniform_int_distribution<int32_t>(low, high)(random);
    };
    const auto size = [&] { return whole(0, 3) == 0 ? whole(100, 300) : whole(1, 40); };
    WideProduct p = {whole(0, 1) == 0 ? DType::kF16 : DType::kBF16, whole(1, 12), size(), size(), size(), {}};
    for (std::vector<uint8_t>& order : p.orders) {
      const std::vector<uint8_t> orders[] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {2, 1, 0}, {1, 2, 0}};
      order = orders[whole(0, 4)];
    }
    check(p, random, {whole(1, 5)});
  });
}

TEST(WideProducts, ASumIsNotRoundedOnTheWay) {
  // In f16 2048 + 1 is 2048.
  const int32_t depth = 100;
  std::vector<double> a(depth, 1.0), b(depth, 1.0);
  a[0] = 2048;
  const Array x(DType::kF16, {1, 1, depth}, a), y(DType::kF16, {1, depth, 1}, b), z(DType::kF16, {1, 1, 1});
  ASSERT_EQ(call(kernel_of(kernels(), "aten::bmm.out"), {x, y}, {z}, 1).error, Error::kOk);
  EXPECT_EQ(z.values()[0], 2148);
}

TEST(WideProducts, TheTemporaryMemoryOfOpenSizesIsEnoughForEachSmallerOne) {
  testing::for_each_seed(40, [](unsigned seed) {
    std::mt19937 random(seed);
    const auto whole = [&](int32_t low, int32_t high) {
      return std::uniform_int_distribution<int32_t>(low, high)(random);
    };
    const auto size = [&] { return whole(0, 3) == 0 ? whole(100, 1500) : whole(1, 90); };
    const int threads = whole(1, 4);
    const int32_t most[] = {whole(1, 9), size(), size(), size()};
    const auto open = [](std::vector<int32_t> sizes) {
      return Array(DType::kF16, std::move(sizes), {}, {}, ShapeDynamism::kBounded);
    };
    const KernelEntry& entry = kernel_of(kernels(), "aten::bmm.out");
    size_t bytes = 0;
    for (int i = 0; i < 6; ++i) {
      int32_t now[4];
      for (int d = 0; d < 4; ++d) now[d] = i == 0 ? most[d] : whole(0, 2) == 0 ? most[d] : whole(1, most[d]);
      std::vector<Arg> args = {open({now[0], now[1], now[3]}), open({now[0], now[3], now[2]}),
                               open({now[0], now[1], now[2]})};
      std::vector<EValue*> values;
      for (Arg& arg : args) values.push_back(arg.value());
      if (i == 0) bytes = entry.temp_bytes({values.data(), values.size()}, threads);
      const testing::Outcome outcome = testing::run_with(entry.call, args, threads, bytes);
      ASSERT_EQ(outcome.error, Error::kOk)
          << outcome.message << " with " << now[0] << " x " << now[1] << " x " << now[2] << " x " << now[3];
    }
  });
}

TEST(WideProducts, WhatDoesNotFitIsRefusedAsByThePortableKernel) {
  const Array a(DType::kF16, {2, 3, 4}, {}), b(DType::kF16, {2, 5, 6}, {}), c(DType::kF16, {2, 3, 6});
  EXPECT_EQ(call(kernel_of(kernels(), "aten::bmm.out"), {a, b}, {c}, 1).error,
            call(kernel_of(portable::kernels(), "aten::bmm.out"), {a, b}, {c}, 1).error);
  const Array d(DType::kF16, {2, 3, 0}, {}), e(DType::kF16, {2, 0, 6}, {});
  ASSERT_EQ(call(kernel_of(kernels(), "aten::bmm.out"), {d, e}, {c}, 1).error, Error::kOk);
  EXPECT_EQ(c.values(), std::vector<double>(36, 0.0));
}

}  // namespace
}  // namespace berth::cpu
