// The plain kernels of fused operators, against the operators that they are made of and against sums done here.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/portable/kernel_testing.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

std::vector<double> ramp(size_t n, double step = 0.37, double from = -1.9) {
  std::vector<double> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = from + std::fmod(static_cast<double>(i) * step, 3.9);
  return values;
}

void expect_all_near(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5) << "element " << i;
}

std::vector<Arg> conv_args(const Array& x, const Array& w, Arg bias, Arg residual, const char* activation,
                           const Array& out, const char* packing = "") {
  return {x,          w,          bias,       residual, Ints{1, 1}, Ints{1, 1}, Ints{1, 1}, false,
          Ints{0, 0}, int64_t{1}, activation, 0.0,      0.5,        packing,    out};
}

TEST(FusedConvolution, IsItsPartsOneAfterAnother) {
  const Array x = f32({1, 2, 4, 5}, ramp(40));
  const Array w = f32({3, 2, 3, 3}, ramp(54, 0.23));
  const Array bias = f32({3}, {0.5, -0.25, 1});
  const Array residual = f32({1, 3, 4, 5}, ramp(60, 0.71));
  const Array plain = f32({1, 3, 4, 5});
  ASSERT_EQ(run_with(convolution_out,
                     {x, w, bias, Ints{1, 1}, Ints{1, 1}, Ints{1, 1}, false, Ints{0, 0}, int64_t{1}, plain}, 1, 1 << 20)
                .error,
            Error::kOk);
  std::vector<double> expected = plain.values();
  const std::vector<double> added = residual.values();
  for (size_t i = 0; i < expected.size(); ++i) expected[i] = std::fmin(std::fmax(expected[i] + added[i], 0), 0.5);
  for (const std::vector<uint8_t>& order : {std::vector<uint8_t>{0, 1, 2, 3}, std::vector<uint8_t>{0, 2, 3, 1}}) {
    const Array out(DType::kF32, {1, 3, 4, 5}, {}, order);
    ASSERT_EQ(run_with(fused_conv_out, conv_args(x, w, bias, residual, "clamp", out), 2, 1 << 20).error, Error::kOk);
    expect_all_near(out.values(), expected);
    EXPECT_TRUE(out.intact());
  }
  // The result in the residual's own memory.
  const Array own = f32({1, 3, 4, 5}, added);
  ASSERT_EQ(run_with(fused_conv_out, conv_args(x, w, bias, own, "clamp", own), 1, 1 << 20).error, Error::kOk);
  expect_all_near(own.values(), expected);
}

TEST(FusedConvolution, RefusesPackedWeightsAndUnknownActivations) {
  const Array x = f32({1, 2, 4, 5}, ramp(40));
  const Array w = f32({3, 2, 3, 3}, ramp(54));
  const Array out = f32({1, 3, 4, 5});
  EXPECT_EQ(run_with(fused_conv_out, conv_args(x, w, nullptr, nullptr, "none", out, "onednn"), 1, 1 << 20).error,
            Error::kNotSupported);
  EXPECT_EQ(run_with(fused_conv_out, conv_args(x, w, nullptr, nullptr, "swash", out), 1, 1 << 20).error,
            Error::kInvalidArgument);
  const Array small = f32({1, 3, 1, 5}, ramp(15));
  EXPECT_EQ(run_with(fused_conv_out, conv_args(x, w, nullptr, small, "none", out), 1, 1 << 20).error,
            Error::kInvalidArgument);
}

TEST(FusedProduct, AddsBiasAndResidual) {
  const Array x = f32({2, 1, 2}, {1, 2, 3, 4});
  const Array w = f32({2, 3}, {1, 0, -1, 0.5, 2, 1});
  const Array bias = f32({3}, {10, 20, 30});
  const Array out = f32({2, 1, 3}, {1, 2, 3, 4, 5, 6});
  const std::vector<Arg> args = {x, w, bias, out, "relu", 0.0, 0.0, "", out};
  ASSERT_EQ(run_with(fused_linear_out, args, 1, 1 << 20).error, Error::kOk);
  // Rows (1, 2) and (3, 4): 2 4 1 and 5 8 1, plus bias, plus what stood there.
  EXPECT_EQ(out.values(), (std::vector<double>{13, 26, 34, 19, 33, 37}));
  const Array narrow = f32({2, 1, 4});
  EXPECT_EQ(run_with(fused_linear_out, {narrow, w, nullptr, nullptr, "none", 0.0, 0.0, "", out}, 1, 1 << 20).error,
            Error::kInvalidArgument);
}

// Whole numbers of 23 bits are carried through, as indices and counters are.
TEST(FusedProduct, CarriesWholeNumbers) {
  const Array x = f32({1, 2}, {0, 1});
  const Array w = f32({2, 3}, {1, 2, 3, 4194303, -4194305, 8388607});
  const Array out = f32({1, 3});
  ASSERT_EQ(run_with(fused_linear_out, {x, w, nullptr, nullptr, "none", 0.0, 0.0, "", out}, 1, 1 << 20).error,
            Error::kOk);
  EXPECT_EQ(out.values(), (std::vector<double>{4194303, -4194305, 8388607}));
}

TEST(FusedAttention, WeighsTheValuesThatAQuerySees) {
  // One head of one column; queries of 0 weigh all keys alike.
  const Array rows = f32({1, 3, 3}, {0, 7, 1, 0, 8, 2, 0, 9, 6});
  const auto attend = [&](Arg mask, bool causal) {
    const Array out = f32({1, 3, 1});
    const std::vector<Arg> args = {rows, rows, rows, mask, 1, 1, 0, 1, 2, 0.5, causal, out};
    EXPECT_EQ(run_with(fused_attention_out, args, 1, 1 << 16).error, Error::kOk);
    return out.values();
  };
  expect_all_near(attend(nullptr, false), {3, 3, 3});
  expect_all_near(attend(nullptr, true), {1, 1.5, 3});
  expect_all_near(attend(berth::testing::boolean({1, 3}, {0, 1, 1}), false), {4, 4, 4});
  // A mask of log 2 counts twice.
  expect_all_near(attend(f32({1, 3}, {0, 0, std::log(2.0)}), false), {3.75, 3.75, 3.75});
}

// What comes after a query may be anything, as a cache's rows that were not written yet are.
TEST(FusedAttention, DoesNotLookAtWhatAQueryMustNotSee) {
  for (const double hidden : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    for (const size_t part : {1u, 2u}) {
      std::vector<double> rows = {0, 7, 1, 0, 8, 2, 0, 9, 6};
      rows[6 + part] = hidden;
      const Array all = f32({1, 3, 3}, rows);
      const Array out = f32({1, 3, 1});
      const std::vector<Arg> args = {all, all, all, nullptr, 1, 1, 0, 1, 2, 0.5, true, out};
      ASSERT_EQ(run_with(fused_attention_out, args, 1, 1 << 16).error, Error::kOk);
      EXPECT_EQ(out.values()[0], 1);
      EXPECT_EQ(out.values()[1], 1.5);
    }
  }
}

TEST(FusedAttention, WithoutKeysIsZero) {
  const Array queries = f32({1, 2, 1}, {1, 2});
  const Array none = f32({1, 0, 1});
  const Array out = f32({1, 2, 1});
  const std::vector<Arg> args = {queries, none, none, nullptr, 1, 1, 0, 0, 0, 0.5, false, out};
  ASSERT_EQ(run_with(fused_attention_out, args, 1, 1 << 16).error, Error::kOk);
  EXPECT_EQ(out.values(), (std::vector<double>{0, 0}));
}

TEST(FusedAttention, NeedsAllColumns) {
  const Array rows = f32({1, 3, 3}, ramp(9));
  const Array out = f32({1, 3, 2});
  EXPECT_EQ(
      run_with(fused_attention_out, {rows, rows, rows, nullptr, 2, 1, 0, 1, 2, 1.0, false, out}, 1, 1 << 16).error,
      Error::kInvalidArgument);
}

TEST(FusedLstm, AStepIsItsFormula) {
  const Array gates = f32({1, 4}, {0.5, -1, 2, 0.25});
  const Array hidden = f32({1, 1}, {0.5});
  const Array cell = f32({1, 1}, {-0.75});
  const Array weight = f32({1, 4}, {1, 2, -1, 0.5});
  const Array h = f32({1, 1});
  const Array c = f32({1, 1});
  ASSERT_EQ(run_with(fused_lstm_cell_out, {gates, hidden, cell, weight, "", h, c}, 1, 1 << 16).error, Error::kOk);
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  // Gates with the recurrent part: i 1, f 0, g 1.5, o 0.5.
  const double state = sigmoid(0) * -0.75 + sigmoid(1) * std::tanh(1.5);
  expect_all_near(c.values(), {state});
  expect_all_near(h.values(), {sigmoid(0.5) * std::tanh(state)});
}

TEST(FusedLstm, GatesAreAStepWithoutItsProducts) {
  const Array h = f32({2, 1});
  const Array c = f32({2, 1});
  // In the order i, o, f, g.
  const Array gates = f32({2, 4}, {0.5, 0.25, -1, 2, 1, -0.5, 0.75, -2});
  const std::vector<int64_t> order = {0, 2, 3, 1};
  ASSERT_EQ(run_with(fused_lstm_gates_out, {gates, f32({2, 1}, {-0.75, 3}), order, h, c}, 1, 0).error, Error::kOk);
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const double first = sigmoid(-1) * -0.75 + sigmoid(0.5) * std::tanh(2);
  const double second = sigmoid(0.75) * 3 + sigmoid(1) * std::tanh(-2);
  expect_all_near(c.values(), {first, second});
  expect_all_near(h.values(), {sigmoid(0.25) * std::tanh(first), sigmoid(-0.5) * std::tanh(second)});
}

TEST(FusedLstm, ASequenceIsItsStepsInBothDirections) {
  // Three units in blocks of two: the last place of the weight is never read.
  const std::vector<double> dense = ramp(36, 0.29);
  std::vector<double> blocks(2 * 3 * 4 * 2, NAN);
  for (size_t k = 0; k < 3; ++k) {
    for (size_t q = 0; q < 4; ++q) {
      for (size_t unit = 0; unit < 3; ++unit) {
        blocks[((unit / 2 * 3 + k) * 4 + q) * 2 + unit % 2] = dense[k * 12 + q * 3 + unit];
      }
    }
  }
  const std::vector<double> gates = ramp(2 * 2 * 12, 0.53);
  for (const bool reverse : {false, true}) {
    std::vector<double> h = ramp(6);
    std::vector<double> c = ramp(6, 0.8);
    const Array out = f32({2, 2, 3});
    const Array out_cell = f32({2, 3});
    ASSERT_EQ(run_with(fused_lstm_out,
                       {f32({2, 2, 12}, gates), f32({2, 3}, h), f32({2, 3}, c), f32({2, 3, 4, 2}, blocks), reverse, out,
                        out_cell},
                       1, 0)
                  .error,
              Error::kOk);
    for (size_t t = 0; t < 2; ++t) {
      const auto at = static_cast<ptrdiff_t>(reverse ? 1 - t : t);
      const std::vector<double> own(gates.begin() + at * 24, gates.begin() + at * 24 + 24);
      const Array step_h = f32({2, 3});
      const Array step_c = f32({2, 3});
      ASSERT_EQ(run_with(fused_lstm_cell_out,
                         {f32({2, 12}, own), f32({2, 3}, h), f32({2, 3}, c), f32({3, 12}, dense), "", step_h, step_c},
                         1, 1 << 16)
                    .error,
                Error::kOk);
      h = step_h.values();
      c = step_c.values();
      const std::vector<double> all = out.values();
      expect_all_near({all.begin() + at * 6, all.begin() + at * 6 + 6}, h);
    }
    expect_all_near(out_cell.values(), c);
  }
}

// One unit, whose gates with the state's part are z 0.5, r -1, n as each form has it.
TEST(FusedGru, AStepIsItsFormula) {
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const double z = sigmoid(0.5), r = sigmoid(-1);
  for (const bool reset_first : {false, true}) {
    for (const bool linear_before_reset : {false, true}) {
      const auto ordered = [&](double first, double second, double last) {
        return reset_first ? std::vector<double>{second, first, last} : std::vector<double>{first, second, last};
      };
      const Array out = f32({1, 1, 1});
      ASSERT_EQ(
          run_with(fused_gru_out,
                   {f32({1, 1, 3}, ordered(-1, 0.25, 2)), f32({1, 1}, {0.5}), f32({1, 1, 3, 1}, ordered(2, -1.5, 4)),
                    f32({3}, ordered(0.5, -0.5, -1)), reset_first, linear_before_reset, false, out},
                   1, 256)
              .error,
          Error::kOk);
      const double n = std::tanh(linear_before_reset ? 2 + r * (4 * 0.5 - 1) : 2 + 4 * (r * 0.5) - 1);
      expect_all_near(out.values(), {(1 - z) * n + z * 0.5});
    }
  }
}

TEST(FusedGru, ASequenceIsItsStepsInBothDirections) {
  // Three units in blocks of two: the last place of the weight is never read.
  std::vector<double> blocks = ramp(2 * 3 * 3 * 2, 0.29);
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (i >= 18 && i % 2 == 1) blocks[i] = NAN;
  }
  const std::vector<double> gates = ramp(2 * 2 * 9, 0.53);
  const Array weight = f32({2, 3, 3, 2}, blocks), bias = f32({9}, ramp(9, 0.31));
  for (const bool reverse : {false, true}) {
    std::vector<double> h = ramp(6);
    const Array out = f32({2, 2, 3});
    ASSERT_EQ(run_with(fused_gru_out, {f32({2, 2, 9}, gates), f32({2, 3}, h), weight, bias, false, false, reverse, out},
                       1, 256)
                  .error,
              Error::kOk);
    for (size_t t = 0; t < 2; ++t) {
      const auto at = static_cast<ptrdiff_t>(reverse ? 1 - t : t);
      const std::vector<double> own(gates.begin() + at * 18, gates.begin() + at * 18 + 18);
      const Array step = f32({1, 2, 3});
      ASSERT_EQ(run_with(fused_gru_out, {f32({1, 2, 9}, own), f32({2, 3}, h), weight, bias, false, false, false, step},
                         1, 256)
                    .error,
                Error::kOk);
      h = step.values();
      const std::vector<double> all = out.values();
      expect_all_near({all.begin() + at * 6, all.begin() + at * 6 + 6}, h);
    }
  }
}

TEST(FusedShuffle, TakesAChannelOfEachGroupInTurn) {
  // Channels 10, 20 and 30 of the first image, 40 of the second: groups (10, 20) and (30, 40).
  const Array a = f32({1, 3, 1, 2}, {10, 11, 20, 21, 30, 31});
  const Array b = f32({1, 1, 1, 2}, {40, 41});
  const Array first(DType::kF32, {1, 3, 1, 2}, {}, {0, 2, 3, 1});
  const Array second = f32({1, 1, 1, 2});
  ASSERT_EQ(run_with(fused_shuffle_out, {Arg::list({a, b}), 2, Ints{3, 1}, Arg::list({first, second})}, 1, 0).error,
            Error::kOk);
  EXPECT_EQ(first.values(), (std::vector<double>{10, 11, 30, 31, 20, 21}));
  EXPECT_EQ(second.values(), (std::vector<double>{40, 41}));
}

TEST(FusedElementwise, RunsStepByStepOnBroadcastInputs) {
  const Array x = f32({2, 3}, {-2, -1, 0, 1, 2, 3});
  const Array y = f32({3}, {1, 10, 100});
  const Array out = f32({2, 3});
  // relu(x * 0.5 + y * x)
  const Ints code = {2, 0, 2, 0, 27, 1, 0, 3, 18, 4, 0, 0};
  ASSERT_EQ(run_with(fused_elementwise_out, {Arg::list({x, y}), code, std::vector<double>{0.5}, out}, 1, 0).error,
            Error::kOk);
  EXPECT_EQ(out.values(), (std::vector<double>{0, 0, 0, 1.5, 21, 301.5}));
}

TEST(FusedElementwise, RefusesCodeThatReadsAhead) {
  const Array x = f32({2}, {1, 2});
  const Array out = f32({2});
  for (const Ints& code :
       {Ints{}, Ints{18, 0}, Ints{99, 0, 0, 0}, Ints{18, 1, 0, 0}, Ints{18, -1, 0, 0}, Ints{18, 0, 1, 0}}) {
    EXPECT_EQ(run_with(fused_elementwise_out, {Arg::list({x}), code, std::vector<double>{}, out}, 1, 0).error,
              Error::kInvalidArgument);
  }
}

// relu((x - 128) * 0.5) as u8 of scale 0.25 and zero point 3.
TEST(FusedElementwise, ReadsAndWritesBytes) {
  const Array x(DType::kU8, {2, 4}, {0, 127, 128, 129, 130, 131, 190, 255});
  const Array out(DType::kU8, {2, 4});
  const Ints code = {1,  0, 1, 0, 2, 6,  2, 0, 18, 7,  0, 0, 3,  8,  3, 0,
                     30, 9, 0, 0, 0, 10, 4, 0, 19, 11, 5, 1, 32, 12, 0, 0};
  const std::vector<double> constants = {128, 0.5, 0.25, 3, 0};
  ASSERT_EQ(run_with(fused_elementwise_out, {Arg::list({x}), code, constants, out}, 1, 0).error, Error::kOk);
  EXPECT_EQ(out.values(), (std::vector<double>{3, 3, 3, 5, 7, 9, 127, 128}));
}

TEST(FusedElementwise, BytesAreWhatACastGives) {
  const float numbers[] = {-1.5f, 2.9f, 256.0f, 300.5f, -129.0f, 3e9f, NAN, INFINITY, -INFINITY, -0.5f};
  for (const DType type : {DType::kU8, DType::kI8}) {
    const Array x = f32({10});
    std::copy(std::begin(numbers), std::end(numbers), x.tensor().data<float>());
    const Array out(type, {10});
    const Array cast(type, {10});
    const Ints code = {type == DType::kU8 ? 32 : 33, 0, 0, 0};
    ASSERT_EQ(run_with(fused_elementwise_out, {Arg::list({x}), code, std::vector<double>{}, out}, 1, 0).error,
              Error::kOk);
    ASSERT_EQ(run_with(to_dim_order_copy_out, {x, false, nullptr, cast}, 1, 0).error, Error::kOk);
    EXPECT_EQ(out.values(), cast.values());
  }
}

TEST(FusedElementwise, RoundsHalfToEvenAndReplacesNaN) {
  const Array x = f32({5}, {0.5, 1.5, -2.5, 2.51, 0});
  x.tensor().data<float>()[4] = NAN;
  const Array out = f32({5});
  ASSERT_EQ(run_with(fused_elementwise_out,
                     {Arg::list({x}), Ints{30, 0, 0, 0, 31, 2, 1, 0}, std::vector<double>{7}, out}, 1, 0)
                .error,
            Error::kOk);
  EXPECT_EQ(out.values(), (std::vector<double>{0, 2, -2, 3, 7}));
}

TEST(FusedElementwise, RefusesBytesOfAnotherType) {
  const Array x(DType::kI8, {4});
  const auto error = [&](const Array& in, const Ints& code, const Array& out) {
    return run_with(fused_elementwise_out, {Arg::list({in}), code, std::vector<double>{}, out}, 1, 0).error;
  };
  EXPECT_EQ(error(x, {33, 0, 0, 0}, Array(DType::kI8, {4})), Error::kOk);
  EXPECT_EQ(error(x, {33, 0, 0, 0}, Array(DType::kU8, {4})), Error::kInvalidArgument);
  EXPECT_EQ(error(x, {33, 0, 0, 0}, f32({4})), Error::kInvalidArgument);
  EXPECT_EQ(error(x, {18, 0, 0, 0}, Array(DType::kI8, {4})), Error::kInvalidArgument);
  EXPECT_EQ(error(Array(DType::kI64, {4}), {18, 0, 0, 0}, f32({4})), Error::kInvalidArgument);
}

struct DynamicBytes {
  std::vector<double> integers;
  double scale, zero_point;
};

DynamicBytes dynamic_bytes(const std::vector<float>& numbers) {
  const Array x = f32({static_cast<int32_t>(numbers.size())});
  std::copy(numbers.begin(), numbers.end(), x.tensor().data<float>());
  const Array out(DType::kU8, x.sizes());
  const Array scale = f32({});
  const Array zero_point(DType::kU8, {});
  EXPECT_EQ(run_with(dynamic_quantize_out, {x, out, scale, zero_point}, 1, 0).error, Error::kOk);
  return {out.values(), scale.values()[0], zero_point.values()[0]};
}

TEST(DynamicQuantize, TheRangeHoldsZero) {
  const DynamicBytes both = dynamic_bytes({-1, 0, 0.5, 4.1f});
  EXPECT_EQ(both.scale, static_cast<double>(5.1f / 255));
  EXPECT_EQ(both.zero_point, 50);
  EXPECT_EQ(both.integers, (std::vector<double>{0, 50, 75, 255}));
  const DynamicBytes positive = dynamic_bytes({2, 5.1f});
  EXPECT_EQ(positive.zero_point, 0);
  EXPECT_EQ(positive.integers, (std::vector<double>{100, 255}));
  const DynamicBytes negative = dynamic_bytes({-2, -5.1f});
  EXPECT_EQ(negative.zero_point, 255);
  EXPECT_EQ(negative.integers, (std::vector<double>{155, 0}));
}

TEST(DynamicQuantize, WithoutARangeTheScaleIsOne) {
  const DynamicBytes zeros = dynamic_bytes({0, -0.0f, 0});
  EXPECT_EQ(zeros.scale, 1);
  EXPECT_EQ(zeros.zero_point, 0);
  EXPECT_EQ(zeros.integers, (std::vector<double>{0, 0, 0}));
}

TEST(DynamicQuantize, WhatIsNotANumberGivesZeros) {
  for (const size_t at : {0u, 1u, 2u}) {
    std::vector<float> numbers = {1, 2, 3};
    numbers[at] = NAN;
    const DynamicBytes nan = dynamic_bytes(numbers);
    EXPECT_TRUE(std::isnan(nan.scale));
    EXPECT_EQ(nan.zero_point, 0);
    EXPECT_EQ(nan.integers, (std::vector<double>{0, 0, 0}));
  }
  const DynamicBytes infinite = dynamic_bytes({1, INFINITY, -2});
  EXPECT_EQ(infinite.scale, INFINITY);
  EXPECT_EQ(infinite.integers, (std::vector<double>{0, 0, 0}));
}

TEST(DynamicQuantize, RefusesWhatHasNoRange) {
  const auto error = [&](const Array& x, const Array& out) {
    return run_with(dynamic_quantize_out, {x, out, f32({}), Array(DType::kU8, {})}, 1, 0).error;
  };
  EXPECT_EQ(error(f32({0, 3}), Array(DType::kU8, {0, 3})), Error::kInvalidArgument);
  EXPECT_EQ(error(f32({3}), Array(DType::kI8, {3})), Error::kInvalidArgument);
  EXPECT_EQ(error(Array(DType::kF16, {3}), Array(DType::kU8, {3})), Error::kInvalidArgument);
}

// Rows (3, 4) and (0, 0): the first has 12.5 as the mean of its squares.
TEST(RmsNorm, DividesRowsByTheRootOfTheMeanOfTheirSquares) {
  const Array x = f32({1, 2, 2}, {3, 4, 0, 0});
  const double root = std::sqrt(12.5 + 0.5);
  ASSERT_EQ(run(fused_rms_norm_out, {x, f32({2}, {10, -1}), 0.5, x}), Error::kOk);
  expect_all_near(x.values(), {30 / root, -4 / root, 0, 0});
  const Array empty = f32({3, 0});
  EXPECT_EQ(run(fused_rms_norm_out, {empty, nullptr, 0.5, empty}), Error::kOk);
}

TEST(RmsNorm, RefusesOtherTypesOrdersAndWeights) {
  const auto error = [](const Array& x, Arg weight, const Array& out) {
    return run(fused_rms_norm_out, {x, std::move(weight), 0.5, out});
  };
  const Array x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(error(x, nullptr, f32({2, 3})), Error::kOk);
  EXPECT_EQ(error(x, f32({2}), f32({2, 3})), Error::kInvalidArgument);
  EXPECT_EQ(error(x, f32({1, 3}), f32({2, 3})), Error::kInvalidArgument);
  EXPECT_EQ(error(x, nullptr, Array(DType::kF16, {2, 3})), Error::kInvalidArgument);
  EXPECT_EQ(error(Array(DType::kF32, {2, 3}, {}, {1, 0}), nullptr, f32({2, 3})), Error::kInvalidArgument);
  EXPECT_EQ(error(f32({}), nullptr, f32({})), Error::kInvalidArgument);
}

TEST(WeightRows, AreColumnsOfTheWeight) {
  const Array weight = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  const Array out = f32({1, 4, 2});
  const auto rows = [&](const Array& at, bool from_end) {
    return run_with(weight_rows_out, {weight, at, from_end, 0, "", "", out}, 1, 0).error;
  };
  ASSERT_EQ(rows(berth::testing::i64({1, 4}, {2, 0, 1, 2}), false), Error::kOk);
  EXPECT_EQ(out.values(), (std::vector<double>{3, 6, 1, 4, 2, 5, 3, 6}));
  ASSERT_EQ(rows(berth::testing::i32({1, 4}, {-1, -3, 1, 2}), true), Error::kOk);
  EXPECT_EQ(out.values(), (std::vector<double>{3, 6, 1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(rows(berth::testing::i64({1, 4}, {-1, 0, 0, 0}), false), Error::kInvalidArgument);
  EXPECT_EQ(rows(berth::testing::i64({1, 4}, {3, 0, 0, 0}), true), Error::kInvalidArgument);
  EXPECT_EQ(rows(berth::testing::i64({1, 4}, {-4, 0, 0, 0}), true), Error::kInvalidArgument);
  EXPECT_EQ(rows(f32({1, 4}, {0, 0, 0, 0}), false), Error::kInvalidArgument);
}

TEST(WeightRows, PackedOnesAndOtherTypesAreRefused) {
  const Array at = berth::testing::i64({1}, {0});
  const auto error = [&](const Array& weight, int bits, const char* packing, const Array& out) {
    return run_with(weight_rows_out, {weight, at, false, bits, bits == 0 ? "" : "i8", packing, out}, 1, 0).error;
  };
  const Array weight = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(error(weight, 0, "", f32({1, 2})), Error::kOk);
  EXPECT_EQ(error(weight, 0, "panels 64 [2,3]", f32({1, 2})), Error::kNotSupported);
  EXPECT_EQ(error(weight, 8, "", Array(DType::kI8, {1, 2})), Error::kNotSupported);
  EXPECT_EQ(error(weight, 0, "", Array(DType::kF16, {1, 2})), Error::kInvalidArgument);
  EXPECT_EQ(error(f32({6}), 0, "", f32({1, 2})), Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth::portable
