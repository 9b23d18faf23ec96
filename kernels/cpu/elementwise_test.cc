// Element-wise chains against the portable kernels. The fears: an input that stretches read at the wrong place, a
// buffer that is taken while its result is still read, NaN, in-place results, ends of runs.

#include <gtest/gtest.h>

#include "format/elementwise_code.h"
#include "kernels/cpu/compare_testing.h"

namespace berth::cpu {
namespace {

using elementwise::Op;
using testing::Arg;
using testing::Array;

const std::vector<uint8_t> kLast = {0, 2, 3, 1};

class Random {
 public:
  explicit Random(unsigned seed) : engine(seed) {}
  int32_t below(size_t n) { return static_cast<int32_t>(engine() % n); }

  std::vector<int32_t> sizes() {
    const int32_t choices[] = {1, 2, 3, 7, 16, 33, 60, 600};
    std::vector<int32_t> s = {1 + below(3), choices[below(8)], 1 + below(6), choices[below(7)]};
    return s;
  }
  // Of a shape that stretches to `sizes`.
  Array input(const std::vector<int32_t>& sizes, const std::vector<uint8_t>& order, bool special) {
    std::vector<int32_t> s = sizes;
    const int kind = below(5);
    for (int32_t& size : s) size = kind == 0 || below(3) > 0 ? size : 1;
    if (kind == 4) s.erase(s.begin(), s.begin() + below(4));
    const bool last = s.size() == 4 && (kind == 0 ? !order.empty() : below(2) == 0);
    return random_array(engine, s, last ? kLast : std::vector<uint8_t>{}, special);
  }
  // A chain of `steps` steps over `operands` inputs and constants.
  std::vector<int64_t> code(size_t steps, size_t operands) {
    std::vector<int64_t> numbers;
    for (size_t s = 0; s < steps; ++s) {
      const auto op = static_cast<Op>(below(elementwise::kOps));
      numbers.push_back(static_cast<int64_t>(op));
      for (int k = 0; k < 3; ++k) {
        const bool used = k < elementwise::operands(op);
        const bool chained = used && k == 0 && s > 0;
        numbers.push_back(chained ? static_cast<int64_t>(operands + s - 1) : used ? below(operands + s) : 0);
      }
    }
    return numbers;
  }

  std::mt19937 engine;
};

TEST(Elementwise, EveryOpOnEveryNumber) {
  std::mt19937 random(1);
  const Array x = random_array(random, {1000}, {}, true);
  const Array y = random_array(random, {1000}, {}, true);
  const Array z = random_array(random, {1}, {}, false);
  for (int64_t op = 0; op < static_cast<int64_t>(elementwise::kOps); ++op) {
    const int count = elementwise::operands(static_cast<Op>(op));
    SCOPED_TRACE("op " + std::to_string(op));
    for (const std::vector<int64_t>& code : std::vector<std::vector<int64_t>>{
             {op, 0, 1, 2}, {op, 0, 2, 1}, {op, 2, 0, 0}, {op, 0, 3, 3}, {op, 3, 0, 2}, {op, 3, 3, 3}, {op, 0, 2, 3}}) {
      std::vector<int64_t> used = code;
      for (int k = count; k < 3; ++k) used[k + 1] = 0;
      expect_same_as_portable("berth::elementwise.out", {Arg::list({x, y, z}), used, std::vector<double>{0.75}},
                              {testing::f32({1000})});
    }
  }
}

TEST(Elementwise, RandomChains) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  Random random(seed.value);
  for (int i = 0; i < 150; ++i) {
    const std::vector<int32_t> sizes = random.sizes();
    const std::vector<uint8_t> order = random.below(2) == 0 ? kLast : std::vector<uint8_t>{};
    const size_t count = 1 + static_cast<size_t>(random.below(4));
    std::vector<Arg> inputs = {random_array(random.engine, sizes, order, i % 3 == 0)};
    for (size_t k = 1; k < count; ++k) inputs.emplace_back(random.input(sizes, order, false));
    const std::vector<int64_t> code = random.code(1 + static_cast<size_t>(random.below(12)), count + 2);
    // Where a chain is badly conditioned the last bits of one step are all of another: compare what is finite and mild.
    std::vector<int64_t> mild;
    for (size_t s = 0; s < code.size(); s += 4) {
      const bool wild = code[s] == static_cast<int64_t>(Op::kPow) || code[s] == static_cast<int64_t>(Op::kSin) ||
                        code[s] == static_cast<int64_t>(Op::kCos) || code[s] == static_cast<int64_t>(Op::kExp) ||
                        code[s] == static_cast<int64_t>(Op::kDiv) || code[s] == static_cast<int64_t>(Op::kReciprocal) ||
                        code[s] == static_cast<int64_t>(Op::kRsqrt) || code[s] == static_cast<int64_t>(Op::kLog) ||
                        code[s] == static_cast<int64_t>(Op::kSqrt) || code[s] == static_cast<int64_t>(Op::kSquare) ||
                        code[s] == static_cast<int64_t>(Op::kMul) || code[s] == static_cast<int64_t>(Op::kMulAdd);
      mild.insert(mild.end(), code.begin() + static_cast<std::ptrdiff_t>(s),
                  code.begin() + static_cast<std::ptrdiff_t>(s + 4));
      if (!wild) continue;
      const size_t at = mild.size() - 4;
      mild[at] = static_cast<int64_t>(Op::kTanh);
      mild[at + 2] = mild[at + 3] = 0;
    }
    expect_same_as_portable("berth::elementwise.out", {Arg::list(inputs), mild, std::vector<double>{0.5, -1.25}},
                            {Array(DType::kF32, sizes, {}, order)}, 1e-4);
  }
}

TEST(Elementwise, LongLivedResultsKeepTheirBuffers) {
  // ((x+1) * (x+2)) - ((x+1) + (x+2)), the sums used twice each.
  const auto n = [](Op op) { return static_cast<int64_t>(op); };
  const std::vector<int64_t> code = {n(Op::kAdd), 0, 1,           0, n(Op::kAdd), 0, 2,           0, n(Op::kMul), 3,
                                     4,           0, n(Op::kAdd), 3, 4,           0, n(Op::kSub), 5, 6,           0};
  std::mt19937 random(5);
  expect_same_as_portable("berth::elementwise.out",
                          {Arg::list({random_array(random, {3000})}), code, std::vector<double>{1, 2}},
                          {testing::f32({3000})});
}

TEST(Elementwise, ThreadsThatBeginWithAShortBlock) {
  // 150 blocks, the third of each image short; one factor for all images, one for each.
  std::mt19937 random(6);
  const std::vector<int64_t> code = {static_cast<int64_t>(Op::kMulAdd), 0, 1, 2};
  expect_same_as_portable("berth::elementwise.out",
                          {Arg::list({random_array(random, {50, 16, 8, 9}, kLast), random_array(random, {1, 16, 1, 1}),
                                      random_array(random, {50, 16, 1, 1})}),
                           code, std::vector<double>{}},
                          {Array(DType::kF32, {50, 16, 8, 9}, {}, kLast)});
}

TEST(Elementwise, TheOutputMayBeAnInput) {
  std::mt19937 random(2);
  for (const int threads : {1, 3}) {
    const Array x = random_array(random, {2, 16, 40, 40}, kLast);
    const Array factor = random_array(random, {2, 16, 1, 1}, kLast);
    const std::vector<double> a = x.values();
    const std::vector<double> f = factor.values();
    const KernelEntry& entry = kernel_of(kernels(), "aten::mul.out");
    ASSERT_EQ(call(entry, {x, factor}, {x}, threads).error, Error::kOk);
    const std::vector<double> y = x.values();
    for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], static_cast<double>(static_cast<float>(a[i] * f[i / 1600])));
  }
}

// Of two to four tensors, perhaps one that stretches; relu of the sum, of a part of it, or none.
TEST(Elementwise, SumsOfTensors) {
  std::mt19937 random(3);
  const auto n = [](Op op) { return static_cast<int64_t>(op); };
  const std::vector<std::vector<int64_t>> codes[] = {
      {{n(Op::kAdd), 0, 1, 0},
       {n(Op::kAdd), 0, 1, 0, n(Op::kRelu), 2, 0, 0},
       {n(Op::kAdd), 0, 1, 0, n(Op::kRelu), 1, 0, 0}},
      {{n(Op::kAdd), 0, 1, 0, n(Op::kAdd), 3, 2, 0},
       {n(Op::kAdd), 0, 1, 0, n(Op::kAdd), 3, 2, 0, n(Op::kRelu), 4, 0, 0},
       {n(Op::kAdd), 0, 1, 0, n(Op::kAdd), 2, 2, 0, n(Op::kRelu), 3, 0, 0}},
      {{n(Op::kAdd), 0, 1, 0, n(Op::kAdd), 4, 2, 0, n(Op::kAdd), 5, 3, 0},
       {n(Op::kAdd), 0, 1, 0, n(Op::kAdd), 4, 2, 0, n(Op::kAdd), 5, 3, 0, n(Op::kRelu), 6, 0, 0}}};
  for (size_t count = 2; count <= 4; ++count) {
    for (const std::vector<int64_t>& code : codes[count - 2]) {
      for (const bool stretched : {false, true}) {
        SCOPED_TRACE(std::to_string(count) + " tensors, " + std::to_string(code.size() / 4) + " steps");
        std::vector<Arg> inputs;
        for (size_t k = 0; k + 1 < count; ++k) inputs.emplace_back(random_array(random, {2, 3, 130, 67}, kLast, true));
        inputs.emplace_back(random_array(random, {2, 3, 130, stretched ? 1 : 67}, kLast, true));
        expect_same_as_portable("berth::elementwise.out", {Arg::list(inputs), code, std::vector<double>{}},
                                {Array(DType::kF32, {2, 3, 130, 67}, {}, kLast)}, 0);
      }
    }
  }
}

TEST(Elementwise, BroadcastingBinaries) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  Random random(seed.value);
  const char* const names[] = {"aten::add.out", "aten::sub.out", "aten::mul.out", "aten::div.out"};
  for (int i = 0; i < 100; ++i) {
    const std::vector<int32_t> sizes = random.sizes();
    const std::vector<uint8_t> order = random.below(2) == 0 ? kLast : std::vector<uint8_t>{};
    const Array full = random_array(random.engine, sizes, order, i % 3 == 0);
    const Array part = random.input(sizes, order, i % 5 == 0);
    const size_t which = random.below(4);
    std::vector<Arg> args = {full, part};
    if (random.below(2) == 0) std::swap(args[0], args[1]);
    if (which < 2) args.emplace_back(1 + random.below(2));
    expect_same_as_portable(names[which], args, {Array(DType::kF32, sizes, {}, order)}, 0);
  }
}

TEST(Elementwise, NoElements) {
  expect_same_as_portable("aten::mul.out", {testing::f32({0, 3}), testing::f32({3})}, {testing::f32({0, 3})});
}

}  // namespace
}  // namespace berth::cpu
