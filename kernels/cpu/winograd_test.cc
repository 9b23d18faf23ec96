// Convolutions with fewer multiplications, against the portable kernels. The fears: a pixel at an edge that a tile
// reads or writes past, a rounding error that direct sums do not have, an infinity that spreads over its tile.

#include "kernels/cpu/winograd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "kernels/cpu/conv.h"
#include "kernels/cpu/conv_testing.h"
#include "kernels/cpu/simd_testing.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;
using testing::Prepared;

constexpr Prefer kBoth[] = {Prefer::kWinograd2, Prefer::kWinograd4};
constexpr const char* kActivations[] = {"none", "relu", "clamp", "leaky_relu", "sigmoid", "hard_swish", "gelu"};

struct WinogradCase {
  int32_t batch, depth, columns, in[2], padding[2];
  bool bias, residual;
  const char* activation;

  std::vector<int32_t> in_sizes() const { return {batch, depth, in[0], in[1]}; }
  std::vector<int32_t> out_sizes() const {
    return {batch, columns, in[0] + 2 * padding[0] - 2, in[1] + 2 * padding[1] - 2};
  }
};

struct Numbers {
  Array input, weight, bias, residual;
};

class RandomImage {
 public:
  explicit RandomImage(unsigned seed) : engine_(seed) {}

  int32_t whole(int32_t low, int32_t high) { return std::uniform_int_distribution<int32_t>(low, high)(engine_); }
  Array tensor(const std::vector<int32_t>& sizes, bool last, double size = 1) {
    int64_t count = 1;
    for (const int32_t s : sizes) count *= s;
    std::vector<double> values(count);
    std::normal_distribution<float> normal;
    for (double& x : values) x = size * static_cast<double>(normal(engine_));
    return Array(DType::kF32, sizes, values, last ? std::vector<uint8_t>{0, 2, 3, 1} : std::vector<uint8_t>{});
  }
  WinogradCase convolution() {
    WinogradCase c = {};
    c.batch = whole(1, 2);
    c.depth = whole(1, 67);
    c.columns = whole(1, 67);
    for (int i = 0; i < 2; ++i) {
      c.padding[i] = whole(0, 2);
      const int32_t out = whole(1, i == 0 ? 17 : 19);
      c.in[i] = std::max(1, out + 2 - 2 * c.padding[i]);
    }
    c.bias = whole(0, 1) == 1;
    c.residual = whole(0, 1) == 1;
    c.activation = kActivations[whole(0, 6)];
    return c;
  }
  Numbers numbers(const WinogradCase& c) {
    const double weight = std::sqrt(2.0 / (9 * c.depth));
    return {tensor(c.in_sizes(), true), tensor({c.columns, c.depth, 3, 3}, false, weight), tensor({c.columns}, false),
            tensor(c.out_sizes(), true)};
  }

 private:
  std::mt19937 engine_;
};

Array result_of(const WinogradCase& c) { return Array(DType::kF32, c.out_sizes(), {}, {0, 2, 3, 1}); }

std::vector<Arg> args_of(const WinogradCase& c, const Numbers& n, const Array& residual, const Array& out) {
  return {n.input,
          n.weight,
          c.bias ? Arg(n.bias) : Arg(nullptr),
          c.residual ? Arg(residual) : Arg(nullptr),
          std::vector<int64_t>{1, 1},
          std::vector<int64_t>{c.padding[0], c.padding[1]},
          std::vector<int64_t>{1, 1},
          false,
          std::vector<int64_t>{0, 0},
          1,
          c.activation,
          -0.5,
          0.5,
          "",
          out};
}

Array portable_result(const WinogradCase& c, const Numbers& n) {
  Array out = result_of(c);
  EXPECT_EQ(testing::run(portable::fused_conv_out, args_of(c, n, n.residual, out), 4 << 20), Error::kOk);
  return out;
}

Array winograd_result(const WinogradCase& c, const Numbers& n, int threads, bool in_place) {
  Array out = result_of(c);
  if (in_place) out.set(n.residual.values());
  Prepared call(testing::kConv, args_of(c, n, in_place ? out : n.residual, out), threads);
  EXPECT_EQ(call.error(), Error::kOk) << call.message();
  EXPECT_STREQ(conv_engine(call.state()), "winograd");
  EXPECT_EQ(call.run(), Error::kOk) << call.message();
  EXPECT_TRUE(out.intact());
  return out;
}

// What must be near: rtol 1e-4, atol 1e-5 x the largest magnitude.
void expect_same(const Array& found, const Array& expected) {
  const std::vector<double> a = found.values(), e = expected.values();
  ASSERT_EQ(a.size(), e.size());
  double largest = 0;
  for (const double x : e) largest = std::isfinite(x) ? std::max(largest, std::fabs(x)) : largest;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(e[i])) {
      ASSERT_TRUE(a[i] == e[i] || (std::isnan(a[i]) && std::isnan(e[i]))) << "at " << i << ": " << a[i];
      continue;
    }
    ASSERT_LE(std::fabs(a[i] - e[i]), 1e-4 * std::fabs(e[i]) + 1e-5 * largest) << "at " << i << " of " << a.size();
  }
}

// Calls f(prefer) for both sizes of tiles on each instruction set.
template <typename F>
void with_each(F&& f) {
  for (const Prefer prefer : kBoth) {
    SCOPED_TRACE(prefer == Prefer::kWinograd2 ? "2x2" : "4x4");
    set_preferred_engine(prefer);
    for_each_simd_target([&](const char* target) {
      SCOPED_TRACE(target);
      f();
    });
  }
  set_preferred_engine(Prefer::kFaster);
}

TEST(Winograd, MatchesThePortableKernel) {
  with_each([] {
    for (unsigned seed = 0; seed < 60; ++seed) {
      SCOPED_TRACE(seed);
      RandomImage random(seed);
      const WinogradCase c = random.convolution();
      const Numbers n = random.numbers(c);
      const Array expected = portable_result(c, n);
      expect_same(winograd_result(c, n, seed % 8 == 0 ? 3 : 1, c.residual && seed % 2 == 0), expected);
      if (::testing::Test::HasFatalFailure()) return;
    }
  });
}

// As many blocks as make every thread take some, and panels of columns that they share.
TEST(Winograd, ResultsDoNotDependOnTheNumberOfThreads) {
  for (const Prefer prefer : kBoth) {
    set_preferred_engine(prefer);
    RandomImage random(1);
    const WinogradCase few = {1, 48, 200, {5, 5}, {1, 1}, true, true, "relu"};
    const WinogradCase many = {2, 40, 130, {40, 33}, {1, 1}, true, false, "none"};
    for (const WinogradCase& c : {few, many}) {
      const Numbers n = random.numbers(c);
      const Array expected = portable_result(c, n);
      for (const int threads : {1, 2, 4, 7}) expect_same(winograd_result(c, n, threads, false), expected);
    }
  }
  set_preferred_engine(Prefer::kFaster);
}

TEST(Winograd, InfinitiesAndNaNStayWhereTheDirectSumHasThem) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  with_each([] {
    for (unsigned seed = 0; seed < 6; ++seed) {
      SCOPED_TRACE(seed);
      RandomImage random(seed);
      const WinogradCase c = {
          1, 5 + static_cast<int32_t>(seed), 20, {11, 9}, {1, 1}, true, seed % 2 == 0, seed % 2 == 0 ? "none" : "relu"};
      const Numbers n = random.numbers(c);
      std::vector<double> input = n.input.values();
      const auto some = [&] { return random.whole(0, static_cast<int32_t>(input.size()) - 1); };
      input[some()] = kInfinity;
      if (seed % 3 == 1) input[some()] = std::nan("");
      if (seed % 3 == 2) input[some()] = -kInfinity;
      n.input.set(input);
      expect_same(winograd_result(c, n, 1, false), portable_result(c, n));
      // An infinite weight is in all results of its column.
      std::vector<double> weight = n.weight.values();
      weight[random.whole(0, static_cast<int32_t>(weight.size()) - 1)] = -kInfinity;
      n.weight.set(weight);
      expect_same(winograd_result(c, n, 1, false), portable_result(c, n));
      if (::testing::Test::HasFatalFailure()) return;
    }
  });
}

// The transformed input is up to 16 times as large as the input.
TEST(Winograd, LargeNumbersDoNotOverflowEarlierThanTheDirectSum) {
  with_each([] {
    const WinogradCase c = {1, 3, 4, {8, 8}, {1, 1}, false, false, "none"};
    RandomImage random(5);
    const Numbers n = random.numbers(c);
    std::vector<double> input(n.input.values().size());
    for (size_t i = 0; i < input.size(); ++i) input[i] = i % 2 == 0 ? 3e38 : -3e38;
    n.input.set(input);
    std::vector<double> weight(n.weight.values().size(), 1.0 / 64);
    n.weight.set(weight);
    const Array expected = portable_result(c, n);
    for (const double x : expected.values()) ASSERT_TRUE(std::isfinite(x));
    expect_same(winograd_result(c, n, 1, false), expected);
  });
}

double root_mean_square(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

// One image of 12x12 pixels, padded by one.
template <typename Sum>
std::vector<double> direct_sums(const WinogradCase& c, const Numbers& n) {
  const std::vector<double> x = n.input.values(), w = n.weight.values();
  std::vector<double> result;
  for (int i = 0; i < c.columns * 144; ++i) {
    Sum sum = 0;
    for (int t = 0; t < 9; ++t) {
      const int y = i % 144 / 12 + t / 3 - 1, z = i % 12 + t % 3 - 1;
      if (y < 0 || y > 11 || z < 0 || z > 11) continue;
      for (int k = 0; k < c.depth; ++k) {
        sum += static_cast<Sum>(x[k * 144 + y * 12 + z]) * static_cast<Sum>(w[(i / 144 * c.depth + k) * 9 + t]);
      }
    }
    result.push_back(static_cast<double>(sum));
  }
  return result;
}

// Tiles of 2x2 are more exact than one long sum, those of 4x4 nearly as exact.
TEST(Winograd, RoundingIsNearThatOfTheDirectSum) {
  const WinogradCase c = {1, 128, 32, {12, 12}, {1, 1}, false, false, "none"};
  RandomImage random(11);
  const Numbers n = random.numbers(c);
  const std::vector<double> exact = direct_sums<double>(c, n);
  const double direct = root_mean_square(direct_sums<float>(c, n), exact);
  set_preferred_engine(Prefer::kWinograd2);
  EXPECT_LT(root_mean_square(winograd_result(c, n, 1, false).values(), exact), direct);
  set_preferred_engine(Prefer::kWinograd4);
  EXPECT_LT(root_mean_square(winograd_result(c, n, 1, false).values(), exact), 1.5 * direct);
  set_preferred_engine(Prefer::kFaster);
}

ConvSpec spec_of(int64_t depth, int64_t columns, int64_t size) {
  ConvSpec s;
  s.in_channels = depth;
  s.out_channels = columns;
  for (int i = 0; i < 2; ++i) {
    s.in[i] = s.out[i] = size;
    s.kernel[i] = 3;
    s.padding[i] = 1;
  }
  const int64_t in_stride[4] = {0, 1, size * depth, depth}, out_stride[4] = {0, 1, size * columns, columns};
  for (int i = 0; i < 4; ++i) {
    s.in_stride[i] = in_stride[i];
    s.out_stride[i] = out_stride[i];
  }
  return s;
}

TEST(Winograd, ScratchIsAllUsed) {
  const int64_t depths[] = {3, 16, 64, 256, 1024};
  for (const int64_t depth : depths) {
    for (const WinogradTile tile : {WinogradTile::k2, WinogradTile::k4}) {
      for (const int threads : {1, 4}) {
        const ConvSpec spec = spec_of(depth, 96, 28);
        const auto kind = winograd_kind(spec, threads, tile);
        ASSERT_NE(kind, nullptr);
        const auto engine = kind->make();
        const std::vector<float> weight(engine->weight().packed_numel());
        ASSERT_EQ(engine->take_weight(weight.data(), nullptr, nullptr), Error::kOk);
        std::vector<float> input(depth * 28 * 28), out(96 * 28 * 28);
        std::vector<uint8_t> temp(kind->temp_bytes());
        testing::TestPool pool(threads);
        KernelContext enough({temp.data(), temp.size()}, &pool);
        EXPECT_EQ(engine->run(enough, {input.data(), nullptr, out.data()}, weight.data()), Error::kOk);
        EXPECT_LT(temp.size() - enough.temp_used(), 64u);
        KernelContext less({temp.data(), temp.size() - 128}, &pool);
        EXPECT_EQ(engine->run(less, {input.data(), nullptr, out.data()}, weight.data()),
                  Error::kMemoryAllocationFailed);
      }
    }
  }
}

// A thread's scratch stays in its second-level cache, whatever the convolution.
TEST(Winograd, ChosenScratchIsAMegabyteAThread) {
  int chosen = 0;
  for (int64_t depth = 1; depth <= 4096; depth *= 2) {
    for (int64_t columns = 1; columns <= 2048; columns *= 4) {
      for (const int64_t size : {1, 14, 28, 300}) {
        for (const int threads : {1, 3, 16}) {
          const auto kind = worthwhile_winograd_kind(spec_of(depth, columns, size), threads);
          if (kind == nullptr) continue;
          ++chosen;
          EXPECT_LE(kind->temp_bytes(), (static_cast<size_t>(threads) << 20) + 64) << depth << " " << columns;
        }
      }
    }
  }
  EXPECT_GT(chosen, 100);
}

TEST(Winograd, IsChosenWhereManyPixelsShareAWeight) {
  const auto chosen = [](int64_t depth, int64_t columns, int64_t size) {
    return worthwhile_winograd_kind(spec_of(depth, columns, size), 2) != nullptr;
  };
  EXPECT_TRUE(chosen(64, 64, 56));
  EXPECT_TRUE(chosen(256, 256, 14));
  EXPECT_FALSE(chosen(512, 512, 7));
  EXPECT_FALSE(chosen(3, 16, 256));
  EXPECT_FALSE(chosen(64, 256, 13));
}

TEST(Winograd, OtherConvolutionsAreNotTaken) {
  const ConvSpec spec = spec_of(64, 64, 56);
  EXPECT_NE(winograd_kind(spec, 1, WinogradTile::k2), nullptr);
  ConvSpec other = spec;
  other.stride[1] = 2;
  EXPECT_EQ(winograd_kind(other, 1, WinogradTile::k2), nullptr);
  other = spec;
  other.dilation[0] = 2;
  EXPECT_EQ(winograd_kind(other, 1, WinogradTile::k2), nullptr);
  other = spec;
  other.groups = 2;
  EXPECT_EQ(winograd_kind(other, 1, WinogradTile::k2), nullptr);
  other = spec;
  other.transposed = 1;
  EXPECT_EQ(winograd_kind(other, 1, WinogradTile::k2), nullptr);
  other = spec;
  other.in_stride[1] = 56 * 56;
  EXPECT_EQ(winograd_kind(other, 1, WinogradTile::k2), nullptr);
}

}  // namespace
}  // namespace berth::cpu
