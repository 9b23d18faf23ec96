// Element-wise chains of f16 and bf16. The fears: rounding twice, or not to the nearest, a chain that rounds on the way
// taken for one of bytes, and results that are written over wider numbers.

#include <gtest/gtest.h>

#include "format/elementwise_code.h"
#include "kernels/cpu/narrow_testing.h"

namespace berth::cpu {
namespace {

using elementwise::Op;
using testing::Arg;
using testing::Array;
using testing::f32;

TEST(ElementwiseHalves, ChainsOf16BitsAreRoundedOnceAndToTheNearest) {
  const auto n = [](Op op) { return static_cast<int64_t>(op); };
  // x + 1 - 2048: in f16 alone, 2048 + 1 is 2048.
  const std::vector<int64_t> once = {n(Op::kAdd), 0, 1, 0, n(Op::kSub), 3, 2, 0, n(Op::kToF16), 4, 0, 0};
  const std::vector<double> constants = {1, 2048};
  const std::vector<int64_t> twice = {n(Op::kAdd), 0, 1, 0, n(Op::kToF16), 3, 0, 0,
                                      n(Op::kSub), 4, 2, 0, n(Op::kToF16), 5, 0, 0};
  const Array x(DType::kF16, {2}, {2048, 2047});
  for (const KernelTable table : {kernels(), portable::kernels()}) {
    const KernelEntry& entry = kernel_of(table, "berth::elementwise.out");
    const Array y(DType::kF16, {2});
    ASSERT_EQ(call(entry, {Arg::list({x}), once, constants}, {y}, 1).error, Error::kOk);
    EXPECT_EQ(y.values(), (std::vector<double>{1, 0}));
    ASSERT_EQ(call(entry, {Arg::list({x}), twice, constants}, {y}, 1).error, Error::kOk);
    EXPECT_EQ(y.values(), (std::vector<double>{0, 0}));
    const Array numbers = f32({5}, {65519, 65520, -1e-9, 1.00390625, 1.01171875});
    const Array halves(DType::kF16, {5}), brains(DType::kBF16, {5});
    ASSERT_EQ(call(entry, {Arg::list({numbers}), std::vector<int64_t>{n(Op::kToF16), 0, 0, 0}, std::vector<double>{}},
                   {halves}, 1)
                  .error,
              Error::kOk);
    EXPECT_EQ(halves.values(), (std::vector<double>{65504, INFINITY, -0.0, 1.00390625, 1.01171875}));
    ASSERT_EQ(call(entry, {Arg::list({numbers}), std::vector<int64_t>{n(Op::kToBF16), 0, 0, 0}, std::vector<double>{}},
                   {brains}, 1)
                  .error,
              Error::kOk);
    EXPECT_EQ(brains.values()[3], 1);
    EXPECT_EQ(brains.values()[4], 1.015625);
  }
}

// Steps that look like those of quantisation, and numbers that are rounded on the way, in long runs.
TEST(ElementwiseHalves, ChainsOf16BitsThatRoundOnTheWay) {
  const auto n = [](Op op) { return static_cast<int64_t>(op); };
  std::mt19937 random(8);
  const Array x = as_type(random_array(random, {3, 700}), DType::kF16);
  const std::vector<double> constants = {3, -5, 5};
  for (const Op last : {Op::kToF16, Op::kToBF16}) {
    const Array y(elementwise::result_type(last), {3, 700});
    expect_same_as_portable(
        "berth::elementwise.out",
        {Arg::list({x}),
         std::vector<int64_t>{n(Op::kMul), 0, 1, 0, n(Op::kRound), 4, 0, 0, n(Op::kClamp), 5, 2, 3, n(last), 6, 0, 0},
         constants},
        {y}, 0);
    expect_same_as_portable(
        "berth::elementwise.out",
        {Arg::list({x}), std::vector<int64_t>{n(Op::kMul), 0, 1, 0, n(last), 4, 0, 0, n(Op::kSub), 5, 0, 0}, constants},
        {f32({3, 700})}, 0);
  }
}

// Numbers of 4 bytes become those of 2 at the front of where they lie.
TEST(ElementwiseHalves, HalvesMayBeWrittenOverFloats) {
  const auto n = [](Op op) { return static_cast<int64_t>(op); };
  std::mt19937 random(7);
  for (const DType to : {DType::kF16, DType::kBF16}) {
    const std::vector<int64_t> code = {n(Op::kAdd), 0, 1, 0, n(to == DType::kF16 ? Op::kToF16 : Op::kToBF16), 2, 0, 0};
    for (const int32_t size : {1, 5, 1023, 1024, 1025, 4096, 4100, 150528}) {
      const Array numbers = random_array(random, {size}), expected(to, {size});
      const std::vector<double> before = numbers.values();
      const auto run = [&](KernelTable table, const Array& out, int threads) {
        const KernelEntry& entry = kernel_of(table, "berth::elementwise.out");
        ASSERT_EQ(call(entry, {Arg::list({numbers}), code, std::vector<double>{0.25}}, {out}, threads).error,
                  Error::kOk);
      };
      run(portable::kernels(), expected, 1);
      const Array front(to, {size});
      front.tensor().set_data(numbers.tensor().raw());
      run(portable::kernels(), front, 1);
      EXPECT_EQ(front.values(), expected.values()) << size;
      for (const int threads : {1, 3}) {
        for_each_simd_target([&](const char* target) {
          numbers.set(before);
          run(kernels(), front, threads);
          EXPECT_EQ(front.values(), expected.values()) << size << ", " << target << ", " << threads << " threads";
        });
      }
    }
  }
}

}  // namespace
}  // namespace berth::cpu
