#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/seeds_testing.h"
#include "kernels/portable/conv_reference.h"
#include "kernels/portable/kernel_testing.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

struct Setting {
  DType dtype = DType::kF32;
  bool channels_last = false;
  bool bias = true;
  int threads = 1;
};

// Small whole numbers: sums are exact in every dtype that the tests use, so results must be equal, not only close.
std::vector<double> small_numbers(size_t count, std::mt19937& random, int most) {
  std::uniform_int_distribution<int> draw(-most, most);
  std::vector<double> numbers(count);
  for (double& x : numbers) x = draw(random);
  return numbers;
}

std::vector<uint8_t> channels_last_order(size_t rank) {
  std::vector<uint8_t> order = {0};
  for (size_t i = 2; i < rank; ++i) order.push_back(static_cast<uint8_t>(i));
  order.push_back(1);
  return order;
}

std::vector<Arg> arguments(const ConvCase& c, const Array& input, const Array& weight, const Arg& bias,
                           const Array& out) {
  return {input, weight, bias, c.stride, c.padding, c.dilation, c.transposed, c.output_padding, c.groups, out};
}

size_t conv_temp_bytes(std::vector<Arg> args, int threads) {
  std::vector<EValue*> values;
  for (Arg& arg : args) values.push_back(arg.value());
  return kTempBytes<&convolution_out>(Span<EValue* const>(values.data(), values.size()), threads);
}

void check(const ConvCase& c, const Setting& setting, std::mt19937& random) {
  SCOPED_TRACE(c.text() + (setting.channels_last ? " channels last" : "") + " " + to_string(setting.dtype) + " on " +
               std::to_string(setting.threads) + " threads");
  const std::vector<uint8_t> order =
      setting.channels_last ? channels_last_order(c.spatial() + 2) : std::vector<uint8_t>();
  // f16 holds whole numbers up to 2048 exactly.
  const int most = has_16_bits(setting.dtype) ? 1 : 4;
  Array input(setting.dtype, c.input_sizes(), {}, order);
  Array weight(setting.dtype, c.weight_sizes(), {}, order);
  Array bias(setting.dtype, {static_cast<int32_t>(c.out_channels)});
  Array out(setting.dtype, c.output_sizes(), {}, order);
  const std::vector<double> x = small_numbers(input.tensor().numel(), random, most);
  const std::vector<double> w = small_numbers(weight.tensor().numel(), random, most);
  const std::vector<double> b = small_numbers(c.out_channels, random, most);
  input.set(x);
  weight.set(w);
  bias.set(b);
  const std::vector<Arg> args = arguments(c, input, weight, setting.bias ? Arg(bias) : Arg(nullptr), out);
  const Outcome outcome = run_with(convolution_out, args, setting.threads, conv_temp_bytes(args, setting.threads));
  ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
  ASSERT_TRUE(out.intact());
  const std::vector<double> expected = reference_convolution(c, x, w, setting.bias ? b : std::vector<double>());
  const std::vector<double> found = out.values();
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], expected[i]) << "element " << i;
}

// batch, groups, in, out channels; in, kernel, stride, padding, dilation, output padding
const std::vector<ConvCase>& conv_cases() {
  static const std::vector<ConvCase> kCases = {
      {1, 1, 1, 1, {1}, {1}, {1}, {0}, {1}, {0}, false},
      {2, 1, 3, 5, {17}, {3}, {1}, {1}, {1}, {0}, false},
      {1, 2, 4, 6, {33}, {5}, {2}, {2}, {3}, {0}, false},
      {1, 1, 3, 16, {20, 21}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {0, 0}, false},
      {2, 1, 5, 7, {9, 11}, {3, 2}, {1, 3}, {0, 2}, {2, 1}, {0, 0}, false},
      {1, 1, 40, 33, {7, 7}, {1, 1}, {1, 1}, {0, 0}, {1, 1}, {0, 0}, false},
      {1, 1, 20, 70, {14, 14}, {1, 1}, {2, 2}, {0, 0}, {1, 1}, {0, 0}, false},
      {3, 1, 16, 12, {5, 6}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, false},
      {1, 1, 32, 20, {28, 28}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, false},
      {1, 1, 30, 130, {6, 40}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, false},
      {1, 1, 2, 3, {12, 13}, {7, 7}, {2, 2}, {3, 3}, {1, 1}, {0, 0}, false},
      {1, 1, 2, 3, {4, 4}, {3, 3}, {1, 1}, {9, 9}, {1, 1}, {0, 0}, false},
      {1, 1, 1, 2, {20, 20}, {9, 9}, {1, 1}, {4, 4}, {1, 1}, {0, 0}, false},
      {2, 4, 8, 12, {8, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, false},
      {2, 6, 6, 6, {8, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, false},
      {1, 5, 5, 10, {19, 30}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {0, 0}, false},
      {1, 3, 3, 3, {19, 30}, {5, 5}, {1, 2}, {2, 4}, {2, 1}, {0, 0}, false},
      {1, 2, 2, 2, {10, 600}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, false},
      {1, 2, 2, 2, {90, 70}, {3, 3}, {3, 4}, {1, 1}, {1, 2}, {0, 0}, false},
      {1, 2, 2, 2, {20, 20}, {9, 9}, {1, 1}, {4, 4}, {1, 1}, {0, 0}, false},
      {1, 5, 5, 5, {16, 13}, {11, 11}, {1, 1}, {3, 5}, {1, 1}, {0, 0}, false},
      {1, 5, 5, 5, {16, 13}, {12, 12}, {1, 1}, {3, 5}, {1, 1}, {0, 0}, false},
      {1, 3, 3, 18, {10, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, false},
      {2, 3, 3, 3, {40}, {7}, {2}, {3}, {1}, {0}, false},
      {2, 130, 130, 130, {9, 10}, {3, 3}, {2, 1}, {1, 2}, {1, 2}, {0, 0}, false},
      {1, 1, 3, 4, {5, 6, 7}, {3, 2, 3}, {1, 2, 1}, {1, 0, 1}, {1, 1, 2}, {0, 0, 0}, false},
      {2, 2, 4, 4, {4, 4, 4}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, {0, 0, 0}, false},
      {1, 3, 3, 3, {4, 5, 6}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, false},
      {1, 1, 3, 4, {7}, {3}, {2}, {1}, {1}, {1}, true},
      {2, 1, 6, 5, {5, 6}, {2, 2}, {2, 2}, {0, 0}, {1, 1}, {0, 0}, true},
      {1, 1, 33, 20, {8, 8}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, true},
      {1, 2, 4, 6, {5, 4}, {4, 3}, {3, 2}, {1, 0}, {2, 3}, {1, 2}, true},
      {1, 1, 2, 3, {4, 5}, {2, 2}, {5, 4}, {1, 0}, {1, 1}, {3, 2}, true},
      {1, 1, 2, 3, {6, 5}, {3, 3}, {4, 6}, {0, 3}, {2, 4}, {0, 1}, true},
      {1, 3, 3, 3, {6, 5}, {3, 3}, {1, 1}, {2, 1}, {1, 1}, {0, 0}, true},
      {1, 1, 2, 2, {3, 4, 3}, {2, 3, 2}, {2, 1, 3}, {0, 1, 0}, {1, 1, 2}, {1, 0, 1}, true},
      {1, 1, 2, 2, {3}, {2}, {100}, {0}, {1}, {0}, true},
  };
  return kCases;
}

std::vector<double> counting(size_t n, int modulus, double shift, double scale) {
  std::vector<double> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = (static_cast<double>(i % static_cast<size_t>(modulus)) + shift) * scale;
  return values;
}

// The figures are PyTorch's; they hold the reference of the other tests, too.
TEST(Convolution, EqualsPyTorch) {
  const std::vector<double> kForward = {-1.0,  -0.5,  0.0,  -2.0,  -2.0,  -1.0, 0.0,   0.5,   0.0,  0.25,  1.75, 1.25,
                                        -0.75, -3.25, 2.75, 0.25,  -1.75, 0.25, -1.0,  0.0,   -2.5, -1.5,  -3.0, -2.0,
                                        -1.5,  -2.0,  -0.5, -2.25, 5.75,  3.75, -1.75, -1.25, 2.75, -0.25, 0.25, 0.75};
  const std::vector<double> kTransposed = {
      1.75,  0.25, 1.75,  -1.25, 0.25, -3.75, 0.25, 0.25, -3.75, 0.25, 2.25,  1.75,  0.25, 3.75,  0.25, 0.25,
      -0.75, 0.25, -2.25, -0.25, 0.25, -0.75, 0.25, 0.25, 0.25,  0.25, 1.75,  -1.25, 0.25, -0.25, 0.25, 0.25,
      0.25,  0.25, 0.75,  0.75,  0.25, 2.25,  0.25, 0.25, 1.25,  0.25, -0.75, 1.25,  0.25, -2.25, 0.25, 0.25,
      0.0,   -1.0, -3.5,  0.0,   -1.0, -5.0,  -1.0, -1.0, -0.5,  -1.0, 1.0,   -4.0,  -1.0, -4.0,  -1.0, -1.0,
      -7.0,  -1.0, 0.5,   0.0,   -1.0, 2.5,   -1.0, -1.0, -0.5,  -1.0, -2.0,  -0.5,  -1.0, -3.5,  -1.0, -1.0,
      0.0,   -1.0, 1.0,   0.0,   -1.0, -0.5,  -1.0, -1.0, -0.5,  -1.0, -2.0,  -1.0,  -1.0, -1.5,  -1.0, -1.0};
  const ConvCase forward = {1, 2, 2, 4, {4, 3}, {2, 2}, {2, 1}, {1, 1}, {1, 2}, {0, 0}, false};
  const ConvCase transposed = {1, 2, 4, 2, {3, 2}, {3, 2}, {2, 3}, {1, 0}, {1, 2}, {1, 2}, true};
  for (const ConvCase& c : {forward, transposed}) {
    const std::vector<double>& expected = c.transposed ? kTransposed : kForward;
    const std::vector<double> x = counting(24, 7, -3, 1);
    const std::vector<double> w = counting(c.transposed ? 24 : 16, 5, -2, 0.5);
    const std::vector<double> b =
        c.transposed ? std::vector<double>{0.25, -1} : std::vector<double>{0, 0.25, 0.5, 0.75};
    const Array out = f32(c.output_sizes());
    const std::vector<Arg> args = arguments(c, f32(c.input_sizes(), x), f32(c.weight_sizes(), w),
                                            f32({static_cast<int32_t>(c.out_channels)}, b), out);
    ASSERT_EQ(run(convolution_out, args, 1 << 20), Error::kOk);
    EXPECT_EQ(out.values(), expected);
    EXPECT_EQ(reference_convolution(c, x, w, b), expected);
  }
}

TEST(Convolution, MatchesItsDefinitionForEveryShape) {
  std::mt19937 random(1);
  for (const ConvCase& c : conv_cases()) {
    for (const bool bias : {true, false}) {
      check(c, {DType::kF32, false, bias, 1}, random);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Convolution, AcceptsChannelsLast) {
  std::mt19937 random(2);
  for (const ConvCase& c : conv_cases()) {
    check(c, {DType::kF32, true, true, 1}, random);
    if (HasFatalFailure()) return;
  }
}

TEST(Convolution, AcceptsEveryDtype) {
  std::mt19937 random(3);
  for (const DType dtype :
       {DType::kF64, DType::kF16, DType::kBF16, DType::kI8, DType::kI16, DType::kI32, DType::kI64}) {
    for (size_t i = 1; i < conv_cases().size(); i += 3) {
      const ConvCase& c = conv_cases()[i];
      // Whole numbers of up to 8 bits are what bf16 and i8 hold.
      if ((dtype == DType::kI8 || dtype == DType::kBF16) && c.in_channels * 81 > 300) continue;
      if (dtype == DType::kI8 && i != 1) continue;
      check(c, {dtype, i % 2 == 0, true, 1}, random);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Convolution, IsRightOnSeveralThreads) {
  std::mt19937 random(4);
  for (const ConvCase& c : conv_cases()) {
    for (const int threads : {2, 5}) {
      check(c, {DType::kF32, false, true, threads}, random);
      if (HasFatalFailure()) return;
    }
  }
}

// Reals, not whole numbers: any other order of the additions would show in the last bits.
TEST(Convolution, ResultsDoNotDependOnTheNumberOfThreads) {
  std::mt19937 random(5);
  std::normal_distribution<double> draw;
  for (const ConvCase& c : conv_cases()) {
    SCOPED_TRACE(c.text());
    std::vector<std::vector<double>> results;
    Array input = f32(c.input_sizes());
    Array weight = f32(c.weight_sizes());
    for (const Array& array : {input, weight}) {
      float* data = array.tensor().data<float>();
      for (int64_t i = 0; i < array.tensor().numel(); ++i) data[i] = static_cast<float>(draw(random));
    }
    for (const int threads : {1, 2, 3, 7}) {
      Array out = f32(c.output_sizes());
      const std::vector<Arg> args = arguments(c, input, weight, nullptr, out);
      ASSERT_EQ(run_with(convolution_out, args, threads, conv_temp_bytes(args, threads)).error, Error::kOk);
      results.push_back(out.values());
    }
    for (const auto& result : results) ASSERT_EQ(result, results[0]);
  }
}

TEST(Convolution, RandomShapesAreRight) {
  const unsigned seed = testing::new_seed();
  std::mt19937 random(seed);
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int trial = 0; trial < 150;) {
    ConvCase c;
    c.batch = draw(1, 2);
    c.groups = draw(1, 3);
    c.in_channels = c.groups * draw(1, 9);
    c.out_channels = c.groups * draw(1, 20);
    c.transposed = draw(0, 2) == 0;
    const int64_t spatial = draw(1, 3);
    bool possible = true;
    for (int64_t i = 0; i < spatial; ++i) {
      c.in.push_back(draw(1, spatial == 3 ? 6 : 20));
      c.kernel.push_back(draw(1, 4));
      c.stride.push_back(draw(1, 3));
      c.padding.push_back(draw(0, 3));
      c.dilation.push_back(draw(1, 3));
      c.output_padding.push_back(draw(0, std::max(c.stride.back(), c.dilation.back()) - 1));
      const int64_t room = c.in.back() + 2 * c.padding.back() - c.dilation.back() * (c.kernel.back() - 1) - 1;
      possible = possible && (c.transposed || room >= 0) && c.out().back() >= 1;
    }
    if (!possible) continue;
    ++trial;
    check(c, {DType::kF32, draw(0, 3) == 0, draw(0, 1) == 0, static_cast<int>(draw(1, 3))}, random);
    if (HasFatalFailure()) return;
  }
}

// The loader asks with the largest sizes; the sizes of the call may be any with as many elements.
TEST(Convolution, TemporaryMemoryIsEnoughForEverySizeOfABoundedTensor) {
  for (const bool transposed : {false, true}) {
    const ConvCase large = {1, 1, 8, 40, {30, 30}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, transposed};
    Array input(DType::kF32, large.input_sizes(), std::vector<double>(7200, 1), {}, ShapeDynamism::kBounded);
    const Array weight = f32(large.weight_sizes(), std::vector<double>(8 * 40 * 9, 1));
    const Array out(DType::kF32, large.output_sizes(), {}, {}, ShapeDynamism::kBounded);
    const size_t bytes = conv_temp_bytes(arguments(large, input, weight, nullptr, out), 4);
    for (const std::vector<int64_t>& size : {large.in, {1, 900}, {900, 1}, {2, 3}}) {
      ConvCase c = large;
      c.in = size;
      const std::vector<int32_t> sizes = c.input_sizes();
      ASSERT_EQ(input.tensor().resize(Span<const int32_t>(sizes.data(), sizes.size())), Error::kOk);
      const Outcome outcome = run_with(convolution_out, arguments(c, input, weight, nullptr, out), 4, bytes);
      ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
      EXPECT_EQ(out.sizes(), c.output_sizes());
      const int64_t taps = std::min<int64_t>(size[0], 2) * std::min<int64_t>(size[1], 2);
      EXPECT_EQ(out.values()[0], static_cast<double>(8 * taps));  // all ones: the taps inside, at the corner
    }
  }
}

TEST(Convolution, ReportsMissingTemporaryMemory) {
  const ConvCase c = {1, 1, 3, 4, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, false};
  const std::vector<Arg> args =
      arguments(c, f32(c.input_sizes()), f32(c.weight_sizes()), nullptr, f32(c.output_sizes()));
  EXPECT_EQ(run_with(convolution_out, args, 1, 0).error, Error::kMemoryAllocationFailed);
}

// The numbers come from a file, which may say anything.
TEST(Convolution, RefusesImpossibleNumbers) {
  const ConvCase good = {1, 2, 4, 4, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, false};
  const Array input = f32(good.input_sizes());
  const Array weight = f32(good.weight_sizes());
  const Array out = f32(good.output_sizes());
  const auto error_of = [&](const ConvCase& c) {
    return run(convolution_out, arguments(c, input, weight, nullptr, out), 1 << 20);
  };
  ASSERT_EQ(error_of(good), Error::kOk);
  constexpr int64_t kHuge = INT64_MAX;
  for (const bool transposed : {false, true}) {
    for (const int64_t bad : {int64_t{0}, int64_t{-1}, int64_t{-3}, int64_t{1} << 31, kHuge, -kHuge}) {
      for (std::vector<int64_t> ConvCase::*field : {&ConvCase::stride, &ConvCase::dilation, &ConvCase::padding}) {
        ConvCase c = good;
        c.transposed = transposed;
        c.*field = {1, bad};
        if (field == &ConvCase::padding && bad == 0) continue;
        EXPECT_NE(error_of(c), Error::kOk) << c.text();
      }
      ConvCase c = good;
      c.transposed = transposed;
      c.groups = bad;
      EXPECT_NE(error_of(c), Error::kOk) << c.text();
    }
    for (const int64_t large : {int64_t{1} << 20, int64_t{INT32_MAX}}) {
      ConvCase c = good;
      c.transposed = transposed;
      c.stride = c.dilation = {large, large};
      EXPECT_NE(error_of(c), Error::kOk) << c.text();
      c.padding = {large, large};
      EXPECT_NE(error_of(c), Error::kOk) << c.text();
    }
  }
  // Sizes whose product nearly overflows though no element is there.
  const std::vector<Arg> vast =
      arguments({1, 1, 0, 4, {}, {}, {1}, {0}, {1}, {0}, false}, f32({1, 0, 1 << 20, 1 << 20, 1 << 20}),
                f32({4, 0, 1 << 20, 1 << 20, 1 << 20}), nullptr, f32({1, 4, 1, 1, 1}));
  EXPECT_NE(run(convolution_out, vast, 1 << 20), Error::kOk);
  EXPECT_EQ(conv_temp_bytes(vast, 2), 0u);
  ConvCase wide = good;
  wide.padding = {1 << 30, 1 << 30};  // sizes that out does not have
  EXPECT_EQ(conv_temp_bytes(arguments(wide, input, weight, nullptr, out), 2), 0u);
  ConvCase c = good;
  c.stride = {1, 1, 1};
  EXPECT_NE(error_of(c), Error::kOk);
  c.stride = {};
  EXPECT_NE(error_of(c), Error::kOk);
}

// Whatever the numbers: an error or a result, nothing written outside, no trap. Sanitizers see the rest.
TEST(Convolution, NoArgumentsCrashIt) {
  const unsigned seed = testing::new_seed();
  std::mt19937 random(seed);
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  const int64_t kWild[] = {0, -1, 3, 5, 46341, INT32_MAX, int64_t{1} << 31, INT64_MAX, INT64_MIN};
  const auto number = [&](int64_t tame) {
    return random() % 12 == 0 ? kWild[random() % std::size(kWild)] : tame + static_cast<int64_t>(random() % 2);
  };
  int done = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const size_t spatial = 1 + random() % 3;
    const auto numbers = [&](int64_t tame) {
      std::vector<int64_t> list(random() % 32 == 0 ? random() % 4 : spatial);
      for (int64_t& x : list) x = number(tame);
      return list;
    };
    const auto tensor = [&](unsigned most) {
      std::vector<int32_t> sizes;
      for (size_t i = 0; i < spatial + 2; ++i) {
        sizes.push_back(random() % 64 == 0 ? 0 : static_cast<int32_t>(1 + random() % (i == 1 ? 2 : most)));
      }
      return Array(DType::kF32, sizes, {},
                   random() % 4 == 0 ? channels_last_order(spatial + 2) : std::vector<uint8_t>{},
                   ShapeDynamism::kBounded);
    };
    const Array out = tensor(9);
    const bool transposed = random() % 2 == 0;
    const std::vector<Arg> args = {tensor(4),  tensor(4),  nullptr,    numbers(1), numbers(0),
                                   numbers(1), transposed, numbers(0), number(1),  out};
    const int threads = 1 + static_cast<int>(random() % 3);
    if (run_with(convolution_out, args, threads, conv_temp_bytes(args, threads)).error == Error::kOk) ++done;
    ASSERT_TRUE(out.intact());
  }
  EXPECT_GT(done, 100);
}

TEST(Convolution, RefusesTensorsThatDoNotMatch) {
  const ConvCase c = {1, 1, 4, 4, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, false};
  const Array input = f32(c.input_sizes());
  const Array weight = f32(c.weight_sizes());
  const Array out = f32(c.output_sizes());
  const auto error_of = [&](const Array& x, const Array& w, const Arg& b, const Array& y) {
    return run(convolution_out, arguments(c, x, w, b, y), 1 << 20);
  };
  EXPECT_EQ(error_of(input, weight, f32({4}), out), Error::kOk);
  EXPECT_NE(error_of(f32({1, 3, 5, 5}), weight, nullptr, out), Error::kOk);
  EXPECT_NE(error_of(f32({1, 4, 5}), weight, nullptr, out), Error::kOk);
  EXPECT_NE(error_of(f32({4}), weight, nullptr, out), Error::kOk);
  EXPECT_NE(error_of(input, f32({4, 4, 3}), nullptr, out), Error::kOk);
  EXPECT_NE(error_of(input, f32({4, 4, 0, 3}), nullptr, out), Error::kOk);
  EXPECT_NE(error_of(input, f32({4, 4, 9, 9}), nullptr, out), Error::kOk);
  EXPECT_NE(error_of(input, weight, f32({3}), out), Error::kOk);
  EXPECT_NE(error_of(input, weight, f32({4, 1}), out), Error::kOk);
  EXPECT_NE(error_of(input, weight, i64({4}), out), Error::kOk);
  EXPECT_NE(error_of(input, weight, nullptr, f32({1, 4, 5, 4})), Error::kOk);
  EXPECT_NE(error_of(input, weight, nullptr, i64(c.output_sizes())), Error::kOk);
  EXPECT_NE(error_of(boolean(c.input_sizes()), boolean(c.weight_sizes()), nullptr, boolean(c.output_sizes())),
            Error::kOk);
  Array nowhere = f32(c.input_sizes());
  nowhere.tensor().set_data(nullptr);
  EXPECT_NE(error_of(nowhere, weight, nullptr, out), Error::kOk);
}

// Taps past the edge are not multiplied: an infinite weight would make NaN of the zeros there.
TEST(Convolution, TransposedMultipliesNothingOutsideTheInput) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::vector<ConvCase> conv_cases = {{1, 1, 1, 1, {3}, {2}, {1}, {0}, {2}, {0}, true},
                                            {2, 2, 4, 6, {3, 4}, {3, 2}, {2, 3}, {1, 0}, {1, 2}, {1, 0}, true}};
  for (const ConvCase& c : conv_cases) {
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16}) {
      SCOPED_TRACE(c.text() + " " + to_string(dtype));
      Array input(dtype, c.input_sizes()), weight(dtype, c.weight_sizes()), out(dtype, c.output_sizes());
      std::vector<double> x(input.tensor().numel(), 1);
      std::vector<double> w(weight.tensor().numel(), 2);
      w[1] = kInf;
      input.set(x);
      weight.set(w);
      const std::vector<Arg> args = arguments(c, input, weight, nullptr, out);
      ASSERT_EQ(run_with(convolution_out, args, 2, conv_temp_bytes(args, 2)).error, Error::kOk);
      EXPECT_EQ(out.values(), reference_convolution(c, x, w, {}));
    }
  }
}

}  // namespace
}  // namespace berth::portable
