// Attention over a cache against its definition, in double. The fears: a head that reads another group's keys, keys
// that a query must not see, limits beyond the cache, zeros for a query of nothing but -infinity whose softmax is NaN,
// columns that do not fill a register, scratch that threads share.
#include "kernels/cpu/grouped_attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/seeds_testing.h"
#include "kernels/cpu/simd_testing.h"
#include "kernels/portable/kernel_testing.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;
using testing::f32;

struct GroupedCase {
  int32_t batch = 1, heads = 1, groups = 1, queries = 1, keys = 1, size = 1, value_size = 1;
  std::vector<double> last = {};
  std::vector<double> before = {};
  std::vector<int32_t> mask = {};
  DType mask_dtype = DType::kF32;
  int threads = 1;
  bool guarded = true;
  DType caches = DType::kF32;
  // For values of an open size: the largest one, of which temporary memory is asked for; 0 is value_size.
  int32_t most_value_size = 0;
};

std::vector<double> randoms(std::mt19937& random, size_t count, double spread) {
  std::normal_distribution<float> normal(0, static_cast<float>(spread));
  std::vector<double> values(count);
  for (double& x : values) x = static_cast<double>(normal(random));
  return values;
}

Array random_rows(std::mt19937& random, DType type, int32_t a, int32_t b, int32_t c, int32_t d) {
  const int64_t count = int64_t{a} * b * c * d;
  return Array(type, {a, b, c, d}, randoms(random, count, 1.5));
}

struct GroupedProblem {
  GroupedCase c;
  double scale;
  std::vector<double> query, key, value, mask;

  double mask_at(int b, int h, int i, int j) const {
    const int index[] = {b, h, i, j};
    size_t at = 0;
    for (size_t d = 0; d < c.mask.size(); ++d) {
      at = at * c.mask[d] + (c.mask[d] == 1 ? 0 : index[d + 4 - c.mask.size()]);
    }
    if (c.mask.empty()) return 0;
    if (c.mask_dtype == DType::kBool) return mask[at] != 0 ? 0 : -INFINITY;
    return mask[at];
  }
  bool sees(int i, int j) const { return (c.last.empty() || j <= c.last[i]) && (c.before.empty() || j > c.before[i]); }
  // Row i of head h: its `value_size` elements.
  std::vector<double> row(int b, int h, int i) const {
    const int group = b * c.groups + h / (c.heads / c.groups);
    const double* q = query.data() + ((b * c.heads + h) * c.queries + i) * c.size;
    std::vector<double> weights(c.keys, 0);
    double most = -INFINITY;
    for (int j = 0; j < c.keys; ++j) {
      double sum = 0;
      for (int e = 0; e < c.size; ++e) sum += q[e] * key[(group * c.keys + j) * c.size + e];
      weights[j] = sees(i, j) ? sum * scale + mask_at(b, h, i, j) : -INFINITY;
      most = std::max(most, weights[j]);
    }
    if (most == -INFINITY) return std::vector<double>(c.value_size, c.guarded || c.keys == 0 ? 0 : NAN);
    std::vector<double> out(c.value_size, 0);
    double total = 0;
    for (double& w : weights) total += w = std::exp(w - most);
    for (int j = 0; j < c.keys; ++j) {
      if (!sees(i, j)) continue;
      for (int e = 0; e < c.value_size; ++e) {
        out[e] += weights[j] / total * value[(group * c.keys + j) * c.value_size + e];
      }
    }
    return out;
  }
};

Arg limits_of(const std::vector<double>& limits) {
  if (limits.empty()) return Arg(nullptr);
  return Arg(Array(DType::kI64, {static_cast<int32_t>(limits.size())}, limits));
}

std::string text_of(const GroupedCase& c, unsigned seed) {
  return "seed " + std::to_string(seed) + ": " + std::to_string(c.heads) + " heads of " + std::to_string(c.groups) +
         " groups, " + std::to_string(c.queries) + " queries, " + std::to_string(c.keys) + " keys of " +
         std::to_string(c.size) + ", values of " + std::to_string(c.value_size) + ", " + std::to_string(c.threads) +
         " threads" + ", caches of " + to_string(c.caches);
}

std::vector<double> rows_of(const GroupedProblem& p) {
  std::vector<double> rows;
  for (int b = 0; b < p.c.batch; ++b) {
    for (int h = 0; h < p.c.heads; ++h) {
      for (int i = 0; i < p.c.queries; ++i) {
        const std::vector<double> row = p.row(b, h, i);
        rows.insert(rows.end(), row.begin(), row.end());
      }
    }
  }
  return rows;
}

void expect_rows(const std::vector<double>& found, const std::vector<double>& wanted, const std::string& what) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(wanted[i])) {
      ASSERT_TRUE(std::isnan(found[i])) << what << ", element " << i << " is " << found[i];
    } else {
      ASSERT_NEAR(found[i], wanted[i], 2e-5) << what << ", element " << i;
    }
  }
}

// [b, g, n, d] as [b, n, g, d].
Array rows_of_heads(const Array& cache) {
  const std::vector<int32_t> sizes = cache.sizes();
  const std::vector<double> from = cache.values();
  std::vector<double> to(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    const size_t e = i % sizes[3], row = i / sizes[3];
    const size_t j = row % sizes[2], group = row / sizes[2] % sizes[1], b = row / sizes[2] / sizes[1];
    to[((b * sizes[2] + j) * sizes[1] + group) * sizes[3] + e] = from[i];
  }
  return Array(cache.tensor().dtype(), {sizes[0], sizes[2], sizes[1], sizes[3]}, to);
}

void check(const GroupedCase& c, unsigned seed) {
  std::mt19937 random(seed);
  GroupedProblem p = {c, 1 / std::sqrt(static_cast<double>(std::max(c.size, 1))), {}, {}, {}, {}};
  const Array query = random_rows(random, DType::kF32, c.batch, c.heads, c.queries, c.size);
  const Array key = random_rows(random, c.caches, c.batch, c.groups, c.keys, c.size);
  const Array value = random_rows(random, c.caches, c.batch, c.groups, c.keys, c.value_size);
  p.query = query.values();
  p.key = key.values();
  p.value = value.values();
  // What no query sees is not even a number.
  for (int j = 0; j < c.keys; ++j) {
    bool seen = false;
    for (int i = 0; i < c.queries; ++i) seen = seen || p.sees(i, j);
    for (int g = 0; !seen && g < c.batch * c.groups; ++g) {
      for (int e = 0; e < c.size; ++e) p.key[(g * c.keys + j) * c.size + e] = NAN;
      for (int e = 0; e < c.value_size; ++e) p.value[(g * c.keys + j) * c.value_size + e] = INFINITY;
    }
  }
  key.set(p.key);
  value.set(p.value);
  Arg mask(nullptr);
  if (!c.mask.empty()) {
    size_t count = 1;
    for (const int32_t size : c.mask) count *= size;
    p.mask = randoms(random, count, 1);
    for (double& x : p.mask) x = c.mask_dtype == DType::kBool ? x > -0.5 : x;
    mask = Arg(Array(c.mask_dtype, c.mask, p.mask));
  }
  const Array out = f32({c.batch, c.heads, c.queries, c.value_size});
  const std::vector<double> wanted = rows_of(p);
  struct Caches {
    Array key, value;
  };
  const auto run = [&](auto kernel, TempBytesFunction temp, const Caches& caches, const std::string& what) {
    std::vector<Arg> args = {query,   caches.key, caches.value, mask, limits_of(c.last), limits_of(c.before),
                             p.scale, c.guarded,  out};
    out.set(std::vector<double>(out.values().size(), 99));
    std::vector<EValue*> values;
    for (Arg& arg : args) values.push_back(arg.value());
    const auto largest = [&](const Array& of) {
      std::vector<int32_t> sizes = of.sizes();
      if (c.most_value_size != 0) sizes.back() = c.most_value_size;
      size_t count = 1;
      for (const int32_t size : sizes) count *= size;
      return Array(of.tensor().dtype(), sizes, std::vector<double>(count, 0));
    };
    Arg most_value(largest(caches.value)), most_out(largest(out));
    std::vector<EValue*> most = values;
    most[2] = most_value.value();
    most.back() = most_out.value();
    const size_t bytes = temp(Span<EValue* const>(most.data(), most.size()), c.threads);
    const testing::Outcome outcome = testing::run_with(kernel, args, c.threads, bytes);
    ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
    EXPECT_TRUE(out.intact());
    expect_rows(out.values(), wanted, text_of(c, seed) + what);
  };
  const Caches heads = {key, value}, rows = {rows_of_heads(key), rows_of_heads(value)};
  run(portable::grouped_attention_out, untyped<portable::grouped_attention_temp_bytes>, heads, ", portable");
  run(portable::grouped_attention_rows_out, untyped<portable::grouped_attention_rows_temp_bytes>, rows,
      ", portable, rows");
  for_each_simd_target([&](const char* target) {
    run(grouped_attention_out, untyped<grouped_attention_temp_bytes>, heads, std::string(", ") + target);
    run(grouped_attention_rows_out, untyped<grouped_attention_rows_temp_bytes>, rows, std::string(", rows, ") + target);
  });
}

TEST(GroupedAttention, HeadsOfAGroupReadOneHeadOfKeys) {
  GroupedCase c;
  c.heads = 6;
  c.groups = 2;
  c.keys = 37;
  c.size = c.value_size = 64;
  check(c, 1);
  c.batch = 2;
  c.heads = 14;
  c.value_size = 20;
  c.threads = 3;
  check(c, 2);
  // Passes over eight, four and one register and single elements, one behind the other; heads in fours, pairs, alone.
  c.value_size = 212;
  check(c, 3);
  c.heads = 4;
  check(c, 4);
  c.heads = 2;
  check(c, 5);
}

// Few queries read 16 bits where they lie, many have them widened first. Sizes that fill registers and that do not.
TEST(GroupedAttention, CachesOf16BitsAreWidenedExactly) {
  for (const DType caches : {DType::kBF16, DType::kF16}) {
    GroupedCase c;
    c.caches = caches;
    c.batch = 2;
    c.heads = 14;
    c.groups = 2;
    c.keys = 71;
    for (const int32_t size : {64, 20, 7, 130}) {
      c.size = c.value_size = size;
      for (const int32_t queries : {1, 3, 29}) {
        c.queries = queries;
        c.last.clear();
        for (int i = 0; i < queries; ++i) c.last.push_back(40 + i);
        c.before.assign(queries, 5);
        check(c, 20 + size);
      }
    }
    c.value_size = 40;
    check(c, 30);
  }
}

// Those that a conversion of f16 may get wrong: infinity and NaN, the largest number, and the smallest.
TEST(GroupedAttention, EveryNumberOfF16IsRead) {
  constexpr int32_t kKeys = 3, kSize = 64;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double number : {-kInfinity, kInfinity, std::numeric_limits<double>::quiet_NaN(), 65504.0, -65504.0,
                              0x1p-24, -0x1p-24, 1023 * 0x1p-24}) {
    // The middle one of equal shares.
    std::vector<double> values(kKeys * kSize, 0);
    std::fill_n(values.begin() + kSize, kSize, number);
    const Array query = f32({1, 1, 1, kSize}), key(DType::kF16, {1, 1, kKeys, kSize}, {}), out = f32({1, 1, 1, kSize});
    const Array value(DType::kF16, {1, 1, kKeys, kSize}, values);
    for_each_simd_target([&](const char* target) {
      std::vector<Arg> args = {query, key, value, nullptr, nullptr, nullptr, 1.0, true, out};
      const testing::Outcome outcome = testing::run_with(grouped_attention_out, args, 1, size_t{1} << 16);
      ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
      for (const double found : out.values()) {
        if (std::isfinite(number)) {
          ASSERT_NEAR(found, number / kKeys, std::abs(number) * 1e-6) << target;
        } else {
          ASSERT_EQ(std::isnan(found), std::isnan(number)) << target << ": " << number << " gives " << found;
          ASSERT_TRUE(std::isnan(number) || found == number) << target << ": " << number << " gives " << found;
        }
      }
    });
  }
}

TEST(GroupedAttention, KeysAndValuesAreOfOneType) {
  const Array query = f32({1, 1, 1, 4}), key = f32({1, 1, 3, 4}), out = f32({1, 1, 1, 4});
  const Array value(DType::kBF16, {1, 1, 3, 4}, {});
  std::vector<Arg> args = {query, key, value, nullptr, nullptr, nullptr, 1.0, true, out};
  const testing::Outcome outcome = testing::run_with(grouped_attention_out, args, 1, size_t{1} << 16);
  EXPECT_EQ(outcome.error, Error::kInvalidArgument);
  EXPECT_NE(outcome.message.find("keys and values of f32, bf16 or f16"), std::string::npos) << outcome.message;
}

TEST(GroupedAttention, KeysBehindTheLastAreNotRead) {
  GroupedCase c;
  c.heads = 8;
  c.groups = 2;
  c.keys = 100;
  c.size = c.value_size = 16;
  for (const double last : {0.0, 15.0, 16.0, 98.0, 99.0, 1e9, -1.0, -1e18}) {
    c.last = {last};
    for (const bool guarded : {true, false}) {
      c.guarded = guarded;
      check(c, 3);
    }
  }
}

TEST(GroupedAttention, AWindowHidesWhatIsBefore) {
  GroupedCase c;
  c.heads = 4;
  c.groups = 1;
  c.queries = 3;
  c.keys = 50;
  c.size = c.value_size = 24;
  c.last = {20, 21, 22};
  c.before = {-3, 10, 21};
  check(c, 4);
  c.before = {20, 60, 1e9};
  check(c, 5);
}

TEST(GroupedAttention, ManyQueriesAreTilesWithTheSameLimits) {
  GroupedCase c;
  c.heads = 4;
  c.groups = 2;
  c.queries = 53;
  c.keys = 1100;
  c.size = c.value_size = 32;
  c.threads = 2;
  for (int i = 0; i < c.queries; ++i) c.last.push_back(500 + i);
  check(c, 6);
  for (int i = 0; i < c.queries; ++i) c.before.push_back(i == 0 ? 600 : 600 + 2 * i);
  check(c, 7);
  for (const int32_t value_size : {16, 21, 100}) {
    c.value_size = value_size;
    check(c, 8);
  }
  std::swap(c.last[3], c.last[40]);  // not in order: row by row
  check(c, 8);
  for (double& last : c.last) last = -5;
  check(c, 9);
  c.guarded = false;
  check(c, 9);
}

// Up to half a register values lie turned where no limits are; their memory is asked for before limits are known.
TEST(GroupedAttention, FewElementsOfManyKeysHaveMemoryUnderLimits) {
  GroupedCase c;
  c.queries = 9;
  c.keys = 1100;
  c.size = 8;
  for (const int32_t value_size : {1, 2, 4, 8}) {
    c.value_size = value_size;
    c.last.clear();
    check(c, 12);
    for (int i = 0; i < c.queries; ++i) c.last.push_back(1091 + i);
    check(c, 13);
  }
}

// Rows that do not fill registers are copied, and those of the largest size may fill them.
TEST(GroupedAttention, ValuesOfAnOpenSizeHaveMemoryAtEachSize) {
  GroupedCase c;
  c.heads = 2;
  c.groups = 1;
  c.queries = 9;
  c.keys = 600;
  c.size = 16;
  c.most_value_size = 32;
  for (const int32_t size : {3, 8, 20, 31, 32}) {
    c.value_size = size;
    check(c, 11);
  }
}

// Behind a score that is NaN all others may be -infinity, those in the same lane of a register as well.
TEST(GroupedAttention, AScoreThatIsNaNStaysAmongInfiniteOnes) {
  for (const int32_t at : {0, 5, 59}) {
    std::vector<double> keys(60, -INFINITY);
    keys[at] = NAN;
    const Array query = f32({1, 2, 1, 1}, {1, 2}), key = f32({1, 1, 60, 1}, keys), value = f32({1, 1, 60, 1});
    const Array out = f32({1, 2, 1, 1});
    std::vector<Arg> args = {query, key, value, nullptr, nullptr, nullptr, 1.0, true, out};
    const auto expect_nan = [&](auto kernel, const char* what) {
      out.set({99, 99});
      EXPECT_EQ(testing::run_with(kernel, args, 1, size_t{1} << 16).error, Error::kOk);
      for (const double x : out.values()) EXPECT_TRUE(std::isnan(x)) << what << ", key " << at << ": " << x;
    };
    expect_nan(portable::grouped_attention_out, "portable");
    for_each_simd_target([&](const char* target) { expect_nan(grouped_attention_out, target); });
  }
}

// Scores of -infinity may come from the numbers alone, without a mask.
TEST(GroupedAttention, InfiniteQueriesAreAsTheSoftmaxOfTheirScores) {
  for (const int32_t queries : {2, 30}) {
    for (const bool guarded : {true, false}) {
      const Array query = f32({1, 2, queries, 1}, std::vector<double>(2 * queries, -INFINITY));
      const Array ones = f32({1, 1, 20, 1}, std::vector<double>(20, 1));
      const Array out = f32({1, 2, queries, 1});
      std::vector<Arg> args = {query, ones, ones, nullptr, nullptr, nullptr, 1.0, guarded, out};
      const auto expect_hidden = [&](auto kernel, const char* what) {
        out.set(std::vector<double>(2 * queries, 99));
        EXPECT_EQ(testing::run_with(kernel, args, 1, size_t{1} << 16).error, Error::kOk);
        for (const double x : out.values()) EXPECT_TRUE(guarded ? x == 0 : std::isnan(x)) << what << ": " << x;
      };
      expect_hidden(portable::grouped_attention_out, "portable");
      for_each_simd_target([&](const char* target) { expect_hidden(grouped_attention_out, target); });
    }
  }
}

TEST(GroupedAttention, MasksOfNumbersAndTruthsStretch) {
  GroupedCase c;
  c.batch = 2;
  c.heads = 6;
  c.groups = 3;
  c.keys = 40;
  c.size = 8;
  for (const int32_t queries : {1, 9}) {
    c.queries = queries;
    c.value_size = queries == 1 ? 8 : 20;
    for (const std::vector<int32_t>& mask : {std::vector<int32_t>{40}, {queries, 40}, {2, 1, queries, 40}, {6, 1, 1}}) {
      for (const DType dtype : {DType::kF32, DType::kBool}) {
        c.mask = mask;
        c.mask_dtype = dtype;
        for (const bool guarded : {true, false}) {
          c.guarded = guarded;
          check(c, 10);
        }
      }
    }
  }
}

// A row without elements has a score of 0 for each key; without keys there is nothing to sum.
TEST(GroupedAttention, RowsWithoutElementsAndCachesWithoutKeys) {
  GroupedCase c;
  c.heads = 4;
  c.groups = 2;
  c.keys = 5;
  c.value_size = 3;
  for (const int32_t queries : {1, 9}) {
    c.queries = queries;
    for (const bool guarded : {true, false}) {
      c.guarded = guarded;
      c.size = 0;
      c.keys = 5;
      check(c, 11);
      c.keys = 0;
      check(c, 12);
      c.size = 4;
      check(c, 13);
    }
  }
}

// A tensor that says it is large.
struct Claimed {
  Claimed(DType type, std::vector<int32_t> of) : sizes(std::move(of)) {
    static constexpr uint8_t kOrder[4] = {0, 1, 2, 3};
    tensor = Tensor(type, 4, sizes.data(), kOrder, strides, &element);
    value = EValue(&tensor);
  }

  std::vector<int32_t> sizes;
  int64_t strides[4];
  float element = 0;
  Tensor tensor;
  EValue value;
};

// 2^60 floats for each of four threads are none, counted in 64 bits.
TEST(GroupedAttention, ScoresThatNoMemoryHoldsAreRefused) {
  constexpr int32_t kMany = 1 << 30;
  Claimed query(DType::kF32, {1, kMany, 1, 1}), key(DType::kBF16, {1, 1, kMany, 1}), out(DType::kF32, query.sizes);
  EValue none, scale(1.0), guarded(true);
  EValue* const values[] = {&query.value, &key.value, &key.value, &none, &none, &none, &scale, &guarded, &out.value};
  const Span<EValue* const> args(values, std::size(values));
  EXPECT_EQ(untyped<grouped_attention_temp_bytes>(args, 4), 0u);
  KernelContext context({}, nullptr);
  EXPECT_EQ(untyped<grouped_attention_out>(context, args), Error::kInvalidArgument);
  EXPECT_NE(std::string(context.message()).find("2^40 scores"), std::string::npos) << context.message();
}

TEST(GroupedAttention, RandomShapesAgree) {
  const unsigned seed = testing::new_seed();
  std::mt19937 random(seed);
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  for (int round = 0; round < 30; ++round) {
    GroupedCase c;
    c.groups = pick(1, 3);
    c.heads = c.groups * pick(1, 5);
    c.batch = pick(1, 2);
    c.queries = pick(0, 1) == 0 ? 1 : pick(1, 30);
    c.keys = pick(1, 600);
    c.size = pick(1, 70);
    c.value_size = pick(0, 1) == 0 ? c.size : pick(1, 70);
    c.threads = pick(1, 4);
    const int begin = pick(0, c.keys);
    for (int i = 0; i < c.queries; ++i) c.last.push_back(begin + i);
    if (pick(0, 1) == 0) {
      const int window = pick(1, 64);
      for (int i = 0; i < c.queries; ++i) c.before.push_back(begin + i - window);
    }
    check(c, seed + static_cast<unsigned>(round));
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(GroupedAttention, WrongSizesAreRefused) {
  const Array out = f32({1, 4, 1, 8});
  const auto refused = [&](const Array& query, const Array& key, const Arg& last) {
    std::vector<Arg> args = {query, key, key, nullptr, last, nullptr, 1.0, true, out};
    return testing::run_with(grouped_attention_out, args, 1, size_t{1} << 16).error;
  };
  const Array query = f32({1, 4, 1, 8});
  EXPECT_EQ(refused(query, f32({1, 2, 5, 8}), Arg(nullptr)), Error::kOk);
  EXPECT_EQ(refused(query, f32({1, 3, 5, 8}), Arg(nullptr)), Error::kInvalidArgument);
  EXPECT_EQ(refused(query, f32({1, 2, 5, 7}), Arg(nullptr)), Error::kInvalidArgument);
  EXPECT_EQ(refused(query, f32({2, 2, 5, 8}), Arg(nullptr)), Error::kInvalidArgument);
  EXPECT_EQ(refused(query, f32({1, 2, 5, 8}), limits_of({1, 2})), Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth::cpu
