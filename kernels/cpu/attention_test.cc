// Attention against its definition, in double. The fears: rows beyond the tile's, keys beyond a block's, columns that
// do not fill a register, one head's columns read as another's, masks that leak, scratch memory that two threads share.

#include "kernels/cpu/attention.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <random>

#include "base/seeds_testing.h"
#include "kernels/cpu/simd_testing.h"
#include "kernels/portable/kernel_testing.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;
using testing::f32;

size_t temp_bytes_of(TempBytesFunction function, std::vector<Arg>& args, int threads) {
  std::vector<EValue*> values;
  for (Arg& arg : args) values.push_back(arg.value());
  return function(Span<EValue* const>(values.data(), values.size()), threads);
}

struct AttentionCase {
  int32_t batch = 1, queries = 1, keys = 1;
  int64_t heads = 1, size = 1;
  int64_t columns[3] = {0, 0, 0};  // before the heads, for query, key and value
  int32_t extra = 0;               // columns behind the heads
  bool causal = false;
  int threads = 1;
  std::vector<int32_t> mask = {};
  DType mask_dtype = DType::kF32;
  std::vector<int32_t> bias = {};  // beside a mask, for berth::attention.biased
};

std::vector<double> normal_numbers(std::mt19937& random, size_t count, double spread) {
  std::normal_distribution<float> normal(0, static_cast<float>(spread));
  std::vector<double> values(count);
  for (double& x : values) x = static_cast<double>(normal(random));
  return values;
}

Array random_tokens(std::mt19937& random, int32_t batch, int32_t tokens, int32_t columns) {
  return f32({batch, tokens, columns}, normal_numbers(random, batch * tokens * columns, 1.5));
}

struct Attention {
  AttentionCase c;
  double scale;
  std::vector<double> query, key, value, mask, bias;
  int64_t row(size_t k) const { return c.columns[k] + c.heads * c.size + c.extra; }
  static int64_t place(const std::vector<int32_t>& sizes, const std::array<int64_t, 4>& index) {
    int64_t at = 0;
    for (size_t d = 0; d < sizes.size(); ++d) at = at * sizes[d] + (sizes[d] == 1 ? 0 : index[d + 4 - sizes.size()]);
    return at;
  }
  double mask_at(int64_t b, int64_t h, int64_t i, int64_t j) const {
    if (c.mask.empty()) return 0;
    const double x = mask[place(c.mask, {b, h, i, j})];
    if (c.mask_dtype == DType::kBool) return x != 0 ? 0 : -INFINITY;
    return x;
  }
  double score(int64_t b, int64_t h, int64_t i, int64_t j) const {
    double sum = 0;
    for (int64_t e = 0; e < c.size; ++e) {
      sum += query[(b * c.queries + i) * row(0) + c.columns[0] + h * c.size + e] *
             key[(b * c.keys + j) * row(1) + c.columns[1] + h * c.size + e];
    }
    const double added = c.bias.empty() ? 0 : bias[place(c.bias, {b, h, i, j})];
    return c.causal && j > i ? -INFINITY : sum * scale + added + mask_at(b, h, i, j);
  }
  double element(int64_t b, int64_t h, int64_t i, int64_t e, const std::vector<double>& weights) const {
    double sum = 0;
    for (int64_t j = 0; j < c.keys; ++j) {
      sum += weights[j] * value[(b * c.keys + j) * row(2) + c.columns[2] + h * c.size + e];
    }
    (void)i;
    return sum;
  }
  std::vector<double> weights(int64_t b, int64_t h, int64_t i) const {
    std::vector<double> w(c.keys);
    double max = -INFINITY;
    double sum = 0;
    for (size_t j = 0; j < w.size(); ++j) max = std::max(max, w[j] = score(b, h, i, static_cast<int64_t>(j)));
    for (double& x : w) sum += x = std::exp(x - max);
    for (double& x : w) x /= sum;
    return w;
  }
};

void expect_attention(const Attention& p, const std::vector<double>& found, const std::string& what) {
  size_t at = 0;
  for (int64_t b = 0; b < p.c.batch; ++b) {
    for (int64_t i = 0; i < p.c.queries; ++i) {
      for (int64_t h = 0; h < p.c.heads; ++h) {
        const std::vector<double> w = p.weights(b, h, i);
        for (int64_t e = 0; e < p.c.size; ++e, ++at) {
          ASSERT_NEAR(found[at], p.element(b, h, i, e, w), 1e-5)
              << what << ", batch " << b << ", query " << i << ", head " << h << ", element " << e;
        }
      }
    }
  }
}

std::string text_of(const AttentionCase& c, unsigned seed) {
  return "seed " + std::to_string(seed) + ": " + std::to_string(c.batch) + " x " + std::to_string(c.queries) + " x " +
         std::to_string(c.keys) + ", " + std::to_string(c.heads) + " heads of " + std::to_string(c.size) +
         (c.causal ? ", causal" : "") + ", " + std::to_string(c.threads) + " threads";
}

size_t count_of(const std::vector<int32_t>& sizes) {
  size_t count = 1;
  for (const int32_t size : sizes) count *= size;
  return count;
}

std::vector<double> random_mask(std::mt19937& random, const AttentionCase& c) {
  const size_t count = count_of(c.mask);
  std::vector<double> values = normal_numbers(random, count, 1);
  // Of bool masks most is true; the first key is always seen.
  for (size_t i = 0; i < count && c.mask_dtype == DType::kBool; ++i) {
    values[i] = values[i] > -0.5 || i % static_cast<size_t>(c.mask.back()) == 0;
  }
  return values;
}

void check(const AttentionCase& c, unsigned seed) {
  std::mt19937 random(seed);
  Attention p = {c, 1 / std::sqrt(static_cast<double>(c.size)), {}, {}, {}, {}, {}};
  const Array query = random_tokens(random, c.batch, c.queries, static_cast<int32_t>(p.row(0)));
  const Array key = random_tokens(random, c.batch, c.keys, static_cast<int32_t>(p.row(1)));
  const Array value = random_tokens(random, c.batch, c.keys, static_cast<int32_t>(p.row(2)));
  const Array out = f32({c.batch, c.queries, static_cast<int32_t>(c.heads * c.size)});
  Arg mask(nullptr);
  if (!c.mask.empty()) {
    p.mask = random_mask(random, c);
    mask = Arg(Array(c.mask_dtype, c.mask, p.mask));
  }
  p.query = query.values();
  p.key = key.values();
  p.value = value.values();
  std::vector<Arg> args = {query,        key,          value,        mask,    c.heads,  c.size,
                           c.columns[0], c.columns[1], c.columns[2], p.scale, c.causal, out};
  const bool biased = !c.bias.empty();
  if (biased) {
    p.bias = normal_numbers(random, count_of(c.bias), 1);
    args.insert(args.begin() + 3, Arg(f32(c.bias, p.bias)));
    args.erase(args.end() - 2);
  }
  for_each_simd_target([&](const char* target) {
    out.set(std::vector<double>(out.values().size(), 99));
    const size_t bytes =
        temp_bytes_of(biased ? untyped<attention_biased_temp_bytes> : untyped<attention_temp_bytes>, args, c.threads);
    const testing::Outcome outcome = biased ? testing::run_with(attention_biased_out, args, c.threads, bytes)
                                            : testing::run_with(attention_out, args, c.threads, bytes);
    ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
    EXPECT_TRUE(out.intact());
    expect_attention(p, out.values(), text_of(c, seed) + ", " + target);
  });
}

TEST(Attention, MatchesItsDefinitionForTheShapesOfModels) {
  check({1, 64, 64, 6, 64, {0, 384, 768}, 0, true, 2}, 1);
  check({1, 197, 197, 3, 64, {0, 192, 384}, 0, false, 2}, 2);
}

TEST(Attention, KeysBeyondABlockShareOneSum) {
  check({1, 30, 1100, 1, 16, {0, 0, 0}, 0, false, 1}, 3);
  check({1, 700, 700, 1, 8, {0, 0, 0}, 0, true, 3}, 4);
}

TEST(Attention, ColumnsThatFillNoRegister) {
  for (int64_t size : {1, 3, 5, 15, 17, 31, 33, 65, 80}) check({2, 7, 9, 2, size, {3, 1, 2}, 1, false, 1}, 5);
}

TEST(Attention, MasksOfEveryWidth) {
  for (const std::vector<int32_t>& mask : std::vector<std::vector<int32_t>>{
           {2, 3, 29, 41}, {1, 1, 29, 41}, {2, 1, 1, 41}, {1, 3, 29, 1}, {29, 41}, {41}, {3, 1, 1}, {}}) {
    check({2, 29, 41, 3, 8, {0, 0, 0}, 0, false, 2, mask, DType::kF32}, 6);
    if (!mask.empty() && mask.back() == 41) check({2, 29, 41, 3, 8, {0, 0, 0}, 0, true, 2, mask, DType::kBool}, 7);
  }
}

// Of heads and of windows, of keys alone, and of rows; values of few elements lie turned.
TEST(Attention, ABiasAndAMaskAreBothAdded) {
  for (const int64_t size : {1, 3, 4, 7, 8, 9, 32}) {
    for (const std::vector<int32_t>& mask : std::vector<std::vector<int32_t>>{{3, 1, 29, 41}, {41}, {3, 1, 29, 1}}) {
      for (const DType type : {DType::kF32, DType::kBool}) {
        if (type == DType::kBool && mask.back() == 1) continue;
        check({3, 29, 41, 2, size, {0, 1, 2}, 0, false, 2, mask, type, {1, 2, 29, 41}}, 8);
        check({3, 29, 41, 2, size, {0, 1, 2}, 0, false, 1, mask, type, {2, 1, 1}}, 9);
      }
    }
  }
  check({2, 30, 600, 3, 4, {0, 0, 0}, 0, false, 2, {2, 1, 30, 600}, DType::kF32, {1, 3, 30, 600}}, 10);
}

TEST(Attention, RandomShapes) {
  const unsigned seed = testing::new_seed();
  std::mt19937 random(seed);
  const auto up_to = [&](int64_t n) { return static_cast<int32_t>(random() % static_cast<unsigned>(n)); };
  for (int i = 0; i < 40; ++i) {
    const AttentionCase c = {1 + up_to(3), 1 + up_to(60), 1 + up_to(80),
                             1 + up_to(4), 1 + up_to(70), {up_to(5), up_to(5), up_to(5)},
                             up_to(3),     up_to(2) == 0, 1 + up_to(4)};
    check(c, seed + static_cast<unsigned>(i));
  }
}

TEST(Attention, ScoresBeyondTheExponentialsRangeAndNaN) {
  const Array query = f32({1, 2, 1}, {1, 1});
  const Array key = f32({1, 3, 1}, {500, 0, -500});
  const Array value = f32({1, 3, 1}, {1, 2, 3});
  const Array out = f32({1, 2, 1});
  std::vector<Arg> args = {query, key, value, nullptr, 1, 1, 0, 0, 0, 1.0, false, out};
  for_each_simd_target([&](const char* target) {
    const size_t bytes = temp_bytes_of(untyped<attention_temp_bytes>, args, 1);
    query.set({1, -1});
    ASSERT_EQ(testing::run(attention_out, args, bytes), Error::kOk);
    EXPECT_EQ(out.values(), (std::vector<double>{1, 3})) << target;
    query.set({NAN, -1});
    ASSERT_EQ(testing::run(attention_out, args, bytes), Error::kOk);
    EXPECT_TRUE(std::isnan(out.values()[0])) << target;
    EXPECT_EQ(out.values()[1], 3) << target;
  });
}

TEST(Attention, UnseenKeysDoNotMatter) {
  const Array query = f32({1, 3, 1}, {1, 1, 1});
  const Array key = f32({1, 3, 1}, {0, 1000, NAN});
  const Array value = f32({1, 3, 1}, {1, 2, 3});
  const Array out = f32({1, 3, 1});
  std::vector<Arg> args = {query, key, value, nullptr, 1, 1, 0, 0, 0, 1.0, true, out};
  for_each_simd_target([&](const char* target) {
    ASSERT_EQ(testing::run(attention_out, args, temp_bytes_of(untyped<attention_temp_bytes>, args, 1)), Error::kOk);
    EXPECT_EQ(out.values()[0], 1) << target;
    EXPECT_EQ(out.values()[1], 2) << target;
    EXPECT_TRUE(std::isnan(out.values()[2])) << target;
  });
}

// A NaN whose bits would count as an exponent, and weights so small that their numbers would be denormal.
TEST(Attention, NaNsOfAnyBitsStayAndTinyWeightsAreZero) {
  const auto bits = [](uint32_t x) {
    float f;
    std::memcpy(&f, &x, sizeof(f));
    return f;
  };
  for (const int32_t size : {1, 12}) {
    const Array query = f32({1, 1, size}, std::vector<double>(size, 1));
    const Array key = f32({1, 2, size}, std::vector<double>(2 * size, 0));
    const Array value = f32({1, 2, size}, std::vector<double>(2 * size, 1e30));
    const Array out = f32({1, 1, size});
    const Array mask = f32({2}, {0, -88});
    std::vector<Arg> args = {query, key, value, mask, 1, size, 0, 0, 0, 1.0, false, out};
    for_each_simd_target([&](const char* target) {
      const size_t bytes = temp_bytes_of(untyped<attention_temp_bytes>, args, 1);
      mask.tensor().data<float>()[0] = -INFINITY;
      mask.tensor().data<float>()[1] = bits(0x7fc00155);
      ASSERT_EQ(testing::run(attention_out, args, bytes), Error::kOk);
      EXPECT_TRUE(std::isnan(out.values()[0])) << target;
      mask.set({0, -88});
      value.tensor().data<float>()[size] = INFINITY;
      ASSERT_EQ(testing::run(attention_out, args, bytes), Error::kOk);
      EXPECT_TRUE(std::isnan(out.values()[0])) << target << ": 0 times infinity";
      value.tensor().data<float>()[size] = 1e30f;
    });
  }
}

// A weight of 0 times infinity is NaN: rows before the key must not multiply it at all, wherever in a tile of rows, a
// group of queries or a block of keys the diagonal falls.
TEST(Attention, AnUnseenInfinityReachesNoEarlierRow) {
  for (const int32_t bad : {1, 5, 6, 23, 24, 30, 511, 512, 519}) {
    const int32_t tokens = bad + 5;
    const Array query = f32({1, tokens, 3});
    std::vector<double> values(static_cast<size_t>(tokens) * 3, 2);
    values[static_cast<size_t>(bad) * 3 + 1] = INFINITY;
    const Array value = f32({1, tokens, 3}, values);
    const Array out = f32({1, tokens, 3});
    std::vector<Arg> args = {query, query, value, nullptr, 1, 3, 0, 0, 0, 1.0, true, out};
    for_each_simd_target([&](const char* target) {
      ASSERT_EQ(testing::run(attention_out, args, temp_bytes_of(untyped<attention_temp_bytes>, args, 1)), Error::kOk);
      const std::vector<double> found = out.values();
      for (int32_t i = 0; i < tokens; ++i) {
        const double middle = found[static_cast<size_t>(i) * 3 + 1];
        EXPECT_NEAR(found[static_cast<size_t>(i) * 3], 2, 1e-5) << target << ", " << bad << ", row " << i;
        const bool right = i < bad ? std::abs(middle - 2) < 1e-5 : middle == INFINITY;
        EXPECT_TRUE(right) << target << ", " << bad << ", row " << i << ": " << middle;
      }
    });
  }
}

TEST(Attention, WithoutQueriesOrKeys) {
  const Array out = f32({0, 2, 4});
  std::vector<Arg> args = {f32({0, 2, 4}), f32({0, 3, 4}), f32({0, 3, 4}), nullptr, 2, 2, 0, 0, 0, 1.0, false, out};
  EXPECT_EQ(testing::run(attention_out, args, 4096), Error::kOk);
  const Array zeros = f32({1, 2, 4});
  args = {f32({1, 2, 4}, {1, 1, 1, 1, 1, 1, 1, 1}),
          f32({1, 0, 4}),
          f32({1, 0, 4}),
          nullptr,
          2,
          2,
          0,
          0,
          0,
          1.0,
          false,
          zeros};
  EXPECT_EQ(testing::run(attention_out, args, 4096), Error::kOk);
  EXPECT_EQ(zeros.values(), std::vector<double>(8, 0));
}

TEST(Attention, WhatDoesNotFitIsRefused) {
  const Array q = f32({1, 2, 4});
  const Array k = f32({1, 3, 4});
  const Array out = f32({1, 2, 4});
  const auto refused = [&](std::vector<Arg> args) {
    return testing::run(attention_out, std::move(args), 4096) == Error::kInvalidArgument;
  };
  EXPECT_TRUE(refused({q, k, k, nullptr, 2, 2, 1, 0, 0, 1.0, false, out}));
  EXPECT_TRUE(refused({q, k, k, nullptr, 2, 2, 0, -1, 0, 1.0, false, out}));
  EXPECT_TRUE(refused({q, k, k, nullptr, int64_t{1} << 62, int64_t{4}, 0, 0, 0, 1.0, false, out}));
  EXPECT_TRUE(refused({q, k, q, nullptr, 2, 2, 0, 0, 0, 1.0, false, out}));
  EXPECT_TRUE(refused({q, k, k, f32({5}), 2, 2, 0, 0, 0, 1.0, false, out}));
  EXPECT_TRUE(refused({q, k, k, nullptr, 2, 2, 0, 0, 0, 1.0, false, f32({1, 2, 5})}));
  const auto biased_refused = [&](const Array& bias, const Array& mask) {
    return testing::run(attention_biased_out, {q, k, k, bias, mask, 2, 2, 0, 0, 0, 1.0, out}, 4096) ==
           Error::kInvalidArgument;
  };
  EXPECT_FALSE(biased_refused(f32({2, 1, 3}), f32({3})));
  EXPECT_TRUE(biased_refused(f32({2, 1, 4}), f32({3})));
  EXPECT_TRUE(biased_refused(f32({2, 1, 3}), f32({4})));
  EXPECT_TRUE(biased_refused(testing::boolean({3}, {1, 1, 1}), f32({3})));
}

// The memory is measured before anything is checked: of arbitrary sizes.
TEST(Attention, TakesNoMemoryForRefusedOrEmptyCalls) {
  const auto bytes_of = [](const Array& q, const Array& k, const Array& v, int64_t size) {
    std::vector<Arg> args = {q, k, v, nullptr, 1, size, 0, 0, 0, 1.0, false, q};
    return temp_bytes_of(untyped<attention_temp_bytes>, args, 2);
  };
  const Array tokens = f32({1, 3, 4});
  EXPECT_GT(bytes_of(tokens, tokens, tokens, 4), 0u);
  EXPECT_EQ(bytes_of(tokens, tokens, f32({3}), 4), 0u);
  EXPECT_EQ(bytes_of(tokens, f32({}), tokens, 4), 0u);
  EXPECT_EQ(bytes_of(tokens, f32({1, 3, 3}), tokens, 4), 0u);
  const Array nothing = f32({0, INT32_MAX, INT32_MAX});
  EXPECT_EQ(bytes_of(nothing, nothing, nothing, INT32_MAX), 0u);
}

}  // namespace
}  // namespace berth::cpu
