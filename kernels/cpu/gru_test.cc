// All steps of a gated recurrent unit against the portable kernel, which kernels/portable/fused_test.cc holds to the
// formula. The fears: threads that run ahead of each other, pools that run one range after the other, units beyond the
// last block's, the order of time.
#include "kernels/cpu/gru.h"

#include <gtest/gtest.h>

#include "kernels/cpu/compare_testing.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;
using testing::f32;

struct GruCase {
  int32_t steps, rows, size, width;
  bool reverse = false;
  bool reset_first = false;
  bool linear_before_reset = true;
};

std::vector<Arg> random_arguments(std::mt19937& random, const GruCase& c) {
  const int32_t blocks = (c.size + c.width - 1) / c.width;
  const Array weight = random_array(random, {blocks, c.size, 3, c.width});
  float* w = weight.tensor().data<float>();
  for (int64_t i = 0; i < weight.tensor().numel(); ++i) w[i] /= static_cast<float>(c.size);
  return {random_array(random, {c.steps, c.rows, 3 * c.size}),
          random_array(random, {c.rows, c.size}),
          weight,
          random_array(random, {3 * c.size}),
          c.reset_first,
          c.linear_before_reset,
          c.reverse};
}

// All forms: either order of the gates, the reset gate before and behind the product.
void check(GruCase c) {
  for (const bool reset_first : {false, true}) {
    for (const bool linear_before_reset : {false, true}) {
      c.reset_first = reset_first;
      c.linear_before_reset = linear_before_reset;
      const Seed seed;
      SCOPED_TRACE(seed.text() + ": " + std::to_string(c.steps) + " x " + std::to_string(c.rows) + " x " +
                   std::to_string(c.size) + " in blocks of " + std::to_string(c.width) +
                   (reset_first ? ", reset first" : "") + (linear_before_reset ? ", linear before reset" : ""));
      std::mt19937 random(seed.value);
      expect_same_as_portable("berth::gru.out", random_arguments(random, c), {f32({c.steps, c.rows, c.size})}, 2e-5);
    }
  }
}

TEST(Gru, MatchesThePortableKernelInBothDirections) {
  check({7, 1, 128, 64});
  check({7, 1, 128, 32, true});
  check({3, 2, 256, 64});
}

TEST(Gru, UnitsThatFillNoBlockOrRegister) {
  for (const int32_t size : {1, 5, 16, 17, 31, 33, 65, 100, 150}) {
    check({4, 1, size, size});
    check({4, 1, size, 16, true});
    check({2, 2, size, 32});
    check({2, 3, size, 64});
    check({2, 7, size, 16});
  }
}

TEST(Gru, WithoutStepsRowsOrUnits) {
  check({0, 2, 8, 8});
  check({3, 0, 8, 8});
  check({1, 1, 40, 16});
}

TEST(Gru, WithoutABias) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  std::mt19937 random(seed.value);
  for (const bool linear_before_reset : {false, true}) {
    GruCase c{3, 2, 37, 16};
    c.linear_before_reset = linear_before_reset;
    std::vector<Arg> args = random_arguments(random, c);
    args[3] = nullptr;
    expect_same_as_portable("berth::gru.out", args, {f32({3, 2, 37})}, 2e-5);
  }
}

TEST(Gru, InfinitiesAndNaNStayInTheirRow) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  std::mt19937 random(seed.value);
  for (const bool linear_before_reset : {false, true}) {
    GruCase c{3, 2, 20, 16};
    c.linear_before_reset = linear_before_reset;
    std::vector<Arg> args = random_arguments(random, c);
    args[0] = random_array(random, {3, 2, 60}, {}, true);
    expect_same_as_portable("berth::gru.out", args, {f32({3, 2, 20})}, 2e-5);
  }
}

TEST(Gru, WaitsForNoThreadThatNeverComes) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  std::mt19937 random(seed.value);
  for (const bool linear_before_reset : {false, true}) {
    GruCase c{5, 1, 256, 64};
    c.linear_before_reset = linear_before_reset;
    std::vector<Arg> args = random_arguments(random, c);
    const std::vector<Array> expected = {f32({5, 1, 256})};
    ASSERT_EQ(call(kernel_of(portable::kernels(), "berth::gru.out"), args, expected, 1).error, Error::kOk);
    for (const bool backwards : {false, true}) {
      OneAfterAnother pool(backwards);
      const Array out = f32({5, 1, 256});
      std::vector<EValue*> values;
      for (Arg& arg : args) values.push_back(arg.value());
      Arg result = out;
      values.push_back(result.value());
      const arguments::fused_gru_out typed({values.data(), values.size()});
      alignas(64) static uint8_t temp[8192];
      ASSERT_GT(gru_temp_bytes(typed, 4), 0u);
      ASSERT_LE(gru_temp_bytes(typed, 4), sizeof temp);
      KernelContext context(Span<uint8_t>(temp, gru_temp_bytes(typed, 4)), &pool);
      ASSERT_EQ(gru_out(context, typed), Error::kOk);
      expect_close(expected[0], out, 2e-5);
    }
  }
}

TEST(Gru, RefusesInconsistentSizes) {
  const Array out = f32({2, 1, 8});
  const auto refused = [&](const Array& gates, const Array& hidden, const Array& weight, const Array& bias) {
    return testing::run(gru_out, {gates, hidden, weight, bias, false, true, false, out}, 4096) ==
           Error::kInvalidArgument;
  };
  const Array weight = f32({1, 8, 3, 8});
  const Array bias = f32({24});
  EXPECT_TRUE(refused(f32({2, 1, 23}), f32({1, 8}), weight, bias));
  EXPECT_TRUE(refused(f32({2, 2, 24}), f32({1, 8}), weight, bias));
  EXPECT_TRUE(refused(f32({2, 1, 24}), f32({1, 7}), weight, bias));
  EXPECT_TRUE(refused(f32({2, 1, 24}), f32({1, 8}), f32({1, 8, 4, 8}), bias));
  EXPECT_TRUE(refused(f32({2, 1, 24}), f32({1, 8}), f32({1, 8, 3, 7}), bias));
  EXPECT_TRUE(refused(f32({2, 1, 24}), f32({1, 8}), f32({8, 24}), bias));
  EXPECT_TRUE(refused(f32({2, 1, 24}), f32({1, 8}), weight, f32({8})));
}

}  // namespace
}  // namespace berth::cpu
