#include <gtest/gtest.h>

#include <cmath>

#include "kernels/portable/layout_testing.h"
#include "kernels/portable/random_numbers.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

TEST(Rand, IsUniformBelowOne) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
    const Array out(dtype, {40, 100});
    ASSERT_EQ(run_with(rand_out, {Ints{40, 100}, out}, 3).error, Error::kOk);
    std::array<int, 8> counts = {};
    for (const double x : out.values()) {
      ASSERT_GE(x, 0);
      ASSERT_LT(x, 1);  // also after rounding to the dtype
      ++counts[static_cast<size_t>(x * 8)];
    }
    // 500 expected in each; the deviation is 21.
    for (const int count : counts) EXPECT_NEAR(count, 500, 105);
  }
}

TEST(Randn, HasMeanZeroAndDeviationOne) {
  const Array out = f32({10000});
  ASSERT_EQ(run(randn_out, {Ints{10000}, out}), Error::kOk);
  double sum = 0;
  double squares = 0;
  int beyond_two = 0;
  for (const double x : out.values()) {
    sum += x;
    squares += x * x;
    beyond_two += std::abs(x) > 2 ? 1 : 0;
  }
  EXPECT_NEAR(sum / 10000, 0, 0.05);
  EXPECT_NEAR(squares / 10000, 1, 0.07);
  EXPECT_NEAR(beyond_two, 455, 105);
}

TEST(Rand, GivesOtherNumbersEachTime) {
  const Array first = f32({8});
  const Array second = f32({8});
  ASSERT_EQ(run(rand_out, {Ints{8}, first}), Error::kOk);
  ASSERT_EQ(run(rand_out, {Ints{8}, second}), Error::kOk);
  EXPECT_NE(first.values(), second.values());
}

TEST(RandomStream, IsAFunctionOfSeedAndIndex) {
  // Numbers of a stream by definition: SplitMix64 from a mixed seed.
  const RandomStream stream(7);
  EXPECT_EQ(stream.bits(3), RandomStream(7).bits(3));
  EXPECT_NE(stream.bits(3), stream.bits(4));
  EXPECT_NE(stream.bits(3), RandomStream(8).bits(3));
}

TEST(Rand, RefusesWhatDoesNotFit) {
  EXPECT_EQ(run(rand_out, {Ints{2}, i64({2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(randn_out, {Ints{3}, f32({2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(rand_out, {Ints{-1}, f32({2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(rand_out, {Ints{0, 3}, f32({0, 3})}), Error::kOk);
  EXPECT_EQ(run(randn_out, {Ints{}, f32({})}), Error::kOk);
}

TEST(Dropout, KeepsAndScalesWhatTheMaskSays) {
  for (const Order& order : orders(3)) {
    const Array input(DType::kF32, {10, 10, 10}, numbered({10, 10, 10}), order);
    const Array out(DType::kF32, {10, 10, 10});
    const Array mask(DType::kBool, {10, 10, 10}, {}, order);
    ASSERT_EQ(run_with(native_dropout_out, {input, 0.2, true, out, mask}, 3).error, Error::kOk);
    int kept = 0;
    for (size_t i = 0; i < 1000; ++i) {
      const bool keep = mask.values()[i] != 0;
      kept += keep ? 1 : 0;
      EXPECT_FLOAT_EQ(static_cast<float>(out.values()[i]), keep ? static_cast<float>(i + 1) * 1.25f : 0.0f);
    }
    EXPECT_NEAR(kept, 800, 65);
  }
}

TEST(Dropout, OutsideTrainingIsACopy) {
  const Array out = f32({3});
  const Array mask = boolean({3});
  ASSERT_EQ(run(native_dropout_out, {f32({3}, {1, NAN, 3}), 0.9, false, out, mask}), Error::kOk);
  EXPECT_EQ(out.values()[2], 3);
  EXPECT_EQ(mask.values(), (Values{1, 1, 1}));
}

TEST(Dropout, OfEverythingIsZeroAndOfNothingACopy) {
  const Array out = f32({3});
  const Array mask = boolean({3});
  ASSERT_EQ(run(native_dropout_out, {f32({3}, {1, INFINITY, 3}), 1.0, nullptr, out, mask}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{0, 0, 0}));
  EXPECT_EQ(mask.values(), (Values{0, 0, 0}));
  ASSERT_EQ(run(native_dropout_out, {f32({3}, {1, 2, 3}), 0.0, nullptr, out, mask}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{1, 2, 3}));
}

TEST(Dropout, RefusesWhatDoesNotFit) {
  const Array x = f32({3});
  EXPECT_EQ(run(native_dropout_out, {x, 1.5, true, x, boolean({3})}), Error::kInvalidArgument);
  EXPECT_EQ(run(native_dropout_out, {x, static_cast<double>(NAN), true, x, boolean({3})}), Error::kInvalidArgument);
  EXPECT_EQ(run(native_dropout_out, {x, 0.5, true, x, f32({3})}), Error::kInvalidArgument);
  EXPECT_EQ(run(native_dropout_out, {x, 0.5, true, x, boolean({4})}), Error::kInvalidArgument);
  EXPECT_EQ(run(native_dropout_out, {i64({3}), 0.5, true, i64({3}), boolean({3})}), Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth::portable
