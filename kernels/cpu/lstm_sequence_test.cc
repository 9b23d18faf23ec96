// All steps of a long short-term memory against the portable kernel, which kernels/portable/fused_test.cc holds to the
// formula. The fears: threads that run ahead of each other, pools that run one range after the other, units beyond the
// last block's, the order of time.
#include "kernels/cpu/lstm_sequence.h"

#include <gtest/gtest.h>

#include "kernels/cpu/compare_testing.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;
using testing::f32;

struct LstmCase {
  int32_t steps, rows, size, width;
  bool reverse = false;
};

std::vector<Arg> random_arguments(std::mt19937& random, const LstmCase& c) {
  const int32_t blocks = (c.size + c.width - 1) / c.width;
  const Array weight = random_array(random, {blocks, c.size, 4, c.width});
  float* w = weight.tensor().data<float>();
  for (int64_t i = 0; i < weight.tensor().numel(); ++i) w[i] /= static_cast<float>(c.size);
  return {random_array(random, {c.steps, c.rows, 4 * c.size}), random_array(random, {c.rows, c.size}),
          random_array(random, {c.rows, c.size}), weight, c.reverse};
}

void check(const LstmCase& c) {
  const Seed seed;
  SCOPED_TRACE(seed.text() + ": " + std::to_string(c.steps) + " x " + std::to_string(c.rows) + " x " +
               std::to_string(c.size) + " in blocks of " + std::to_string(c.width));
  std::mt19937 random(seed.value);
  expect_same_as_portable("berth::lstm.out", random_arguments(random, c),
                          {f32({c.steps, c.rows, c.size}), f32({c.rows, c.size})}, 2e-5);
}

TEST(LstmSequence, MatchesThePortableKernelInBothDirections) {
  check({7, 1, 128, 64});
  check({7, 1, 128, 32, true});
  check({3, 2, 256, 64});
}

TEST(LstmSequence, UnitsThatFillNoBlockOrRegister) {
  for (const int32_t size : {1, 5, 16, 17, 31, 33, 65, 100, 150}) {
    check({4, 1, size, size});
    check({4, 1, size, 16, true});
    check({2, 2, size, 32});
    check({2, 3, size, 64});
    check({2, 7, size, 16});
  }
}

TEST(LstmSequence, WithoutStepsRowsOrUnits) {
  check({0, 2, 8, 8});
  check({3, 0, 8, 8});
  check({1, 1, 40, 16});
}

TEST(LstmSequence, InfinitiesAndNaNStayInTheirRow) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  std::mt19937 random(seed.value);
  std::vector<Arg> args = random_arguments(random, {3, 2, 20, 16});
  args[0] = random_array(random, {3, 2, 80}, {}, true);
  expect_same_as_portable("berth::lstm.out", args, {f32({3, 2, 20}), f32({2, 20})}, 2e-5);
}

TEST(LstmSequence, WaitsForNoThreadThatNeverComes) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  std::mt19937 random(seed.value);
  std::vector<Arg> args = random_arguments(random, {5, 1, 256, 64});
  const std::vector<Array> expected = {f32({5, 1, 256}), f32({1, 256})};
  ASSERT_EQ(call(kernel_of(portable::kernels(), "berth::lstm.out"), args, expected, 1).error, Error::kOk);
  for (const bool backwards : {false, true}) {
    OneAfterAnother pool(backwards);
    const std::vector<Array> outs = {f32({5, 1, 256}), f32({1, 256})};
    std::vector<EValue*> values;
    for (Arg& arg : args) values.push_back(arg.value());
    std::vector<Arg> results = {outs[0], outs[1]};
    for (Arg& arg : results) values.push_back(arg.value());
    const arguments::fused_lstm_out typed({values.data(), values.size()});
    alignas(64) static uint8_t temp[4096];
    ASSERT_GT(lstm_temp_bytes(typed, 4), 0u);
    ASSERT_LE(lstm_temp_bytes(typed, 4), sizeof temp);
    KernelContext context(Span<uint8_t>(temp, sizeof temp), &pool);
    ASSERT_EQ(lstm_out(context, typed), Error::kOk);
    expect_close(expected[0], outs[0], 2e-5);
    expect_close(expected[1], outs[1], 2e-5);
  }
}

TEST(LstmSequence, RefusesInconsistentSizes) {
  const Array out = f32({2, 1, 8});
  const Array cell = f32({1, 8});
  const auto refused = [&](const Array& gates, const Array& hidden, const Array& weight) {
    return testing::run(lstm_out, {gates, hidden, cell, weight, false, out, cell}, 4096) == Error::kInvalidArgument;
  };
  const Array weight = f32({1, 8, 4, 8});
  EXPECT_TRUE(refused(f32({2, 1, 31}), f32({1, 8}), weight));
  EXPECT_TRUE(refused(f32({2, 2, 32}), f32({1, 8}), weight));
  EXPECT_TRUE(refused(f32({2, 1, 32}), f32({1, 7}), weight));
  EXPECT_TRUE(refused(f32({2, 1, 32}), f32({1, 8}), f32({1, 8, 3, 8})));
  EXPECT_TRUE(refused(f32({2, 1, 32}), f32({1, 8}), f32({1, 8, 4, 7})));
  EXPECT_TRUE(refused(f32({2, 1, 32}), f32({1, 8}), f32({8, 32})));
}

}  // namespace
}  // namespace berth::cpu
