// Element-wise chains against the portable kernels. The fears: an input that stretches read at the wrong place, a
// buffer that is taken while its result is still read, NaN, in-place results, ends of runs, a byte that is another.

#include <gtest/gtest.h>

#include "format/elementwise_code.h"
#include "kernels/cpu/narrow_testing.h"
#include "kernels/portable/convert.h"

namespace berth::cpu {
namespace {

using elementwise::Op;
using testing::Arg;
using testing::Array;

class RandomCall {
 public:
  explicit RandomCall(unsigned seed) : engine(seed) {}
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
    const DType out = elementwise::result_type(static_cast<Op>(op));
    const int count = elementwise::operands(static_cast<Op>(op));
    SCOPED_TRACE("op " + std::to_string(op));
    for (const std::vector<int64_t>& code : std::vector<std::vector<int64_t>>{
             {op, 0, 1, 2}, {op, 0, 2, 1}, {op, 2, 0, 0}, {op, 0, 3, 3}, {op, 3, 0, 2}, {op, 3, 3, 3}, {op, 0, 2, 3}}) {
      std::vector<int64_t> used = code;
      for (int k = count; k < 3; ++k) used[k + 1] = 0;
      expect_same_as_portable("berth::elementwise.out", {Arg::list({x, y, z}), used, std::vector<double>{0.75}},
                              {Array(out, {1000})});
    }
  }
}

// `code` without what makes numbers large or is badly conditioned.
std::vector<int64_t> mild_code(const std::vector<int64_t>& code) {
  // Where a chain is badly conditioned the last bits of one step are all of another: compare what is finite and mild.
  std::vector<int64_t> mild;
  for (size_t s = 0; s < code.size(); s += 4) {
    const bool wild = code[s] == static_cast<int64_t>(Op::kPow) || code[s] == static_cast<int64_t>(Op::kSin) ||
                      code[s] == static_cast<int64_t>(Op::kCos) || code[s] == static_cast<int64_t>(Op::kExp) ||
                      code[s] == static_cast<int64_t>(Op::kDiv) || code[s] == static_cast<int64_t>(Op::kReciprocal) ||
                      code[s] == static_cast<int64_t>(Op::kRsqrt) || code[s] == static_cast<int64_t>(Op::kLog) ||
                      code[s] == static_cast<int64_t>(Op::kSqrt) || code[s] == static_cast<int64_t>(Op::kSquare) ||
                      code[s] == static_cast<int64_t>(Op::kMul) || code[s] == static_cast<int64_t>(Op::kMulAdd) ||
                      code[s] >= static_cast<int64_t>(Op::kRound);
    mild.insert(mild.end(), code.begin() + static_cast<std::ptrdiff_t>(s),
                code.begin() + static_cast<std::ptrdiff_t>(s + 4));
    if (!wild) continue;
    const size_t at = mild.size() - 4;
    mild[at] = static_cast<int64_t>(Op::kTanh);
    mild[at + 2] = mild[at + 3] = 0;
  }
  return mild;
}

TEST(Elementwise, RandomChains) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  RandomCall random(seed.value);
  for (int i = 0; i < 150; ++i) {
    const std::vector<int32_t> sizes = random.sizes();
    const std::vector<uint8_t> order = random.below(2) == 0 ? kLast : std::vector<uint8_t>{};
    const size_t count = 1 + static_cast<size_t>(random.below(4));
    std::vector<Arg> inputs = {random_array(random.engine, sizes, order, i % 3 == 0)};
    for (size_t k = 1; k < count; ++k) inputs.emplace_back(random.input(sizes, order, false));
    const std::vector<int64_t> code = random.code(1 + static_cast<size_t>(random.below(12)), count + 2);
    const std::vector<int64_t> mild = mild_code(code);
    expect_same_as_portable("berth::elementwise.out", {Arg::list(inputs), mild, std::vector<double>{0.5, -1.25}},
                            {Array(DType::kF32, sizes, {}, order)}, 1e-4);
  }
}

// Chains that read f16, bf16 and f32, and are rounded to 16 bits once.
TEST(Elementwise, RandomChainsOf16Bits) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  RandomCall random(seed.value);
  const DType types[] = {DType::kF16, DType::kBF16, DType::kF32};
  for (int i = 0; i < 150; ++i) {
    const std::vector<int32_t> sizes = random.sizes();
    const std::vector<uint8_t> order = random.below(2) == 0 ? kLast : std::vector<uint8_t>{};
    const size_t count = 1 + static_cast<size_t>(random.below(4));
    const auto typed = [&](const Array& array) { return as_type(array, types[random.below(3)]); };
    std::vector<Arg> inputs = {typed(random_array(random.engine, sizes, order, i % 3 == 0))};
    for (size_t k = 1; k < count; ++k) inputs.emplace_back(typed(random.input(sizes, order, false)));
    const size_t steps = 1 + static_cast<size_t>(random.below(12));
    std::vector<int64_t> code = mild_code(random.code(steps, count + 2));
    const DType out = types[random.below(2)];
    const Op last = out == DType::kF16 ? Op::kToF16 : Op::kToBF16;
    for (const int64_t x :
         {static_cast<int64_t>(last), static_cast<int64_t>(count + 2 + steps - 1), int64_t{0}, int64_t{0}}) {
      code.push_back(x);
    }
    expect_same_as_portable("berth::elementwise.out", {Arg::list(inputs), code, std::vector<double>{0.5, -1.25}},
                            {Array(out, sizes, {}, order)}, out == DType::kF16 ? 0x1p-10 : 0x1p-7);
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
  RandomCall random(seed.value);
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

// Numbers of any type that a chain reads, of a shape that stretches to `sizes`.
Array typed_input(RandomCall& random, DType type, const std::vector<int32_t>& sizes,
                  const std::vector<uint8_t>& order) {
  const Array floats = random.input(sizes, order, true);
  const Tensor& t = floats.tensor();
  Array array(type, floats.sizes(), {}, {t.dim_order().begin(), t.dim_order().end()});
  for (int64_t i = 0; i < t.numel(); ++i) {
    const auto bits = static_cast<uint32_t>(random.engine());
    if (element_size(type) == 1) array.tensor().data<uint8_t>()[i] = static_cast<uint8_t>(bits);
    if (type == DType::kI32) array.tensor().data<int32_t>()[i] = static_cast<int32_t>(bits) >> random.below(31);
    if (!is_integer(type))
      portable::convert_elements(DType::kF32, t.data<float>() + i, type,
                                 array.tensor().data<char>() + i * element_size(type), 1);
  }
  return array;
}

// The steps of a quantised graph around random ones: inputs are made numbers or read as they are, the result is rounded
// in one of the ways that models do.
struct QuantisedChain {
  std::vector<int64_t> code;
  std::vector<double> constants;
  int64_t first;

  explicit QuantisedChain(size_t inputs) : first(static_cast<int64_t>(inputs) + 12) {}
  int64_t constant(double number) {
    constants.push_back(number);
    return first - 12 + static_cast<int64_t>(constants.size()) - 1;
  }
  int64_t step(Op op, int64_t a, int64_t b = 0, int64_t c = 0) {
    code.insert(code.end(), {static_cast<int64_t>(op), a, b, c});
    return first + static_cast<int64_t>(code.size() / 4) - 1;
  }
  void fill() {
    while (constants.size() < 12) constants.push_back(0.5);
  }
};

QuantisedChain quantised_chain(RandomCall& random, size_t inputs, DType out) {
  QuantisedChain chain(inputs);
  const Op unary[] = {Op::kRelu, Op::kSigmoid, Op::kTanh, Op::kHardSwish, Op::kGelu, Op::kAbs, Op::kRound, Op::kSilu};
  std::vector<int64_t> numbers;
  for (size_t k = 0; k < inputs; ++k) {
    auto x = static_cast<int64_t>(k);
    if (random.below(4) > 0) x = chain.step(Op::kSub, x, chain.constant(random.below(200) - 100));
    if (random.below(4) > 0) {
      const int64_t scale = chain.constant(0.003 * (1 + random.below(40)));
      x = random.below(2) == 0 ? chain.step(Op::kMul, x, scale) : chain.step(Op::kMul, scale, x);
    }
    // What one tensor of bytes alone decides.
    for (int s = random.below(3); s > 0; --s) x = chain.step(unary[random.below(8)], x);
    numbers.push_back(x);
  }
  const Op binary[] = {Op::kAdd, Op::kMul, Op::kMax, Op::kSub, Op::kDiv};
  int64_t y = numbers[0];
  for (size_t k = 1; k < inputs; ++k) y = chain.step(binary[random.below(5)], y, numbers[k]);
  if (random.below(3) == 0) y = chain.step(Op::kAdd, y, chain.step(unary[random.below(8)], numbers[0]));
  const int steps = random.below(3);
  for (int s = 0; s < steps; ++s) y = chain.step(unary[random.below(8)], y);
  if (out == DType::kF32) {
    chain.fill();
    if (chain.code.empty()) chain.step(Op::kNeg, y);
    return chain;
  }
  const bool is_signed = out == DType::kI8;
  const int64_t scale = chain.constant(0.01 * (1 + random.below(30)));
  if (random.below(5) > 0) y = chain.step(random.below(2) == 0 ? Op::kDiv : Op::kMul, y, scale);
  if (random.below(8) > 0) y = chain.step(Op::kRound, y);
  if (random.below(4) > 0) y = chain.step(Op::kAdd, y, chain.constant(random.below(60) - (is_signed ? 30 : 0)));
  if (random.below(8) > 0) {
    const int64_t low = chain.constant(is_signed ? random.below(2) - 128 : random.below(3));
    y = chain.step(Op::kClamp, y, low, chain.constant(is_signed ? 127 : 255 - random.below(3)));
    if (random.below(3) == 0) y = chain.step(Op::kNanTo, y, low);
  }
  chain.step(is_signed ? Op::kToI8 : Op::kToU8, y);
  chain.fill();
  return chain;
}

TEST(Elementwise, RandomQuantisedChainsGiveThePortableBytes) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  RandomCall random(seed.value);
  const DType types[] = {DType::kU8,  DType::kI8,  DType::kU8,  DType::kI8,
                         DType::kF32, DType::kI32, DType::kF16, DType::kBF16};
  for (int i = 0; i < 120; ++i) {
    SCOPED_TRACE("chain " + std::to_string(i));
    const std::vector<int32_t> sizes = random.sizes();
    const std::vector<uint8_t> order = random.below(2) == 0 ? kLast : std::vector<uint8_t>{};
    const size_t count = 1 + static_cast<size_t>(random.below(3));
    const DType out = i % 4 == 3 ? DType::kF32 : random.below(2) == 0 ? DType::kU8 : DType::kI8;
    std::vector<Arg> inputs;
    for (size_t k = 0; k < count; ++k) {
      const DType type = types[random.below(k == 0 ? 4 : 8)];
      Array input = typed_input(random, type, sizes, order);
      // One has the sizes of the result.
      for (int tries = 0; k == 0 && input.sizes() != sizes && tries < 100; ++tries) {
        input = typed_input(random, type, sizes, order);
      }
      if (k == 0 && input.sizes() != sizes) continue;
      inputs.emplace_back(input);
    }
    if (inputs.size() != count) continue;
    const QuantisedChain chain = quantised_chain(random, count, out);
    expect_same_as_portable("berth::elementwise.out", {Arg::list(inputs), chain.code, chain.constants},
                            {Array(out, sizes, {}, order)}, out == DType::kF32 ? 1e-4 : 0);
  }
}

// Numbers of 4 and 2 bytes become bytes at the front of where they lie: around the sizes of parts, and of many of them.
TEST(Elementwise, BytesMayBeWrittenOverWiderNumbers) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  RandomCall random(seed.value);
  for (const DType from : {DType::kF32, DType::kI32, DType::kBF16}) {
    for (const int32_t size : {1, 5, 64, 1023, 1024, 1025, 4096, 4100, 16384, 150528}) {
      for (const DType to : {DType::kU8, DType::kI8}) {
        SCOPED_TRACE(std::to_string(size) + " elements");
        const double zero = to == DType::kI8 ? -3 : 120;
        const auto n = [](Op op) { return static_cast<int64_t>(op); };
        // x / scale, rounded, + zero point, within the type.
        const std::vector<int64_t> chain = {n(Op::kDiv),
                                            0,
                                            1,
                                            0,
                                            n(Op::kRound),
                                            5,
                                            0,
                                            0,
                                            n(Op::kAdd),
                                            6,
                                            2,
                                            0,
                                            n(Op::kClamp),
                                            7,
                                            3,
                                            4,
                                            n(to == DType::kI8 ? Op::kToI8 : Op::kToU8),
                                            8,
                                            0,
                                            0};
        const std::vector<double> constants = {0.037, zero, to == DType::kI8 ? -128.0 : 0.0,
                                               to == DType::kI8 ? 127.0 : 255.0};
        Array numbers = typed_input(random, from, {1, 1, 1, size}, {});
        for (int tries = 0; numbers.tensor().numel() != size && tries < 100; ++tries) {
          numbers = typed_input(random, from, {1, 1, 1, size}, {});
        }
        const std::vector<double> before = numbers.values();
        const Span<const uint8_t> order = numbers.tensor().dim_order();
        const auto bytes = [&] { return Array(to, numbers.sizes(), {}, {order.begin(), order.end()}); };
        const Array expected = bytes();
        const auto run = [&](KernelTable table, const Array& out, int threads) {
          const KernelEntry& entry = kernel_of(table, "berth::elementwise.out");
          ASSERT_EQ(call(entry, {Arg::list({numbers}), chain, constants}, {out}, threads).error, Error::kOk);
        };
        run(portable::kernels(), expected, 1);
        for (const int threads : {1, 3}) {
          const Array front = bytes();
          front.tensor().set_data(numbers.tensor().raw());
          run(portable::kernels(), front, threads);
          EXPECT_EQ(front.values(), expected.values()) << "portable, " << threads << " threads";
          for_each_simd_target([&](const char* target) {
            numbers.set(before);
            run(kernels(), front, threads);
            EXPECT_EQ(front.values(), expected.values()) << target << ", " << threads << " threads";
          });
          numbers.set(before);
        }
      }
    }
  }
}

// Two tensors of bytes in one pass: every type, numbers of elements around those of registers.
TEST(Elementwise, SumsOfBytesGiveThePortableBytes) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  RandomCall random(seed.value);
  for (const int32_t size : {1, 4, 15, 16, 17, 63, 64, 65, 200, 40000}) {
    for (int types = 0; types < 8; ++types) {
      const auto type = [&](int bit) { return (types >> bit & 1) != 0 ? DType::kI8 : DType::kU8; };
      SCOPED_TRACE(std::to_string(size) + " elements, types " + std::to_string(types));
      QuantisedChain chain(2);
      std::vector<Arg> inputs;
      int64_t terms[2];
      for (int k = 0; k < 2; ++k) {
        const Array bytes(type(k), {size});
        for (int64_t i = 0; i < size; ++i) bytes.tensor().data<uint8_t>()[i] = static_cast<uint8_t>(random.engine());
        inputs.emplace_back(bytes);
        terms[k] = chain.step(Op::kSub, k, chain.constant(random.below(255) - (type(k) == DType::kI8 ? 128 : 0)));
        terms[k] = chain.step(Op::kMul, terms[k], chain.constant(0.01 * (1 + random.below(40))));
      }
      const bool is_signed = type(2) == DType::kI8;
      int64_t y = chain.step(Op::kAdd, terms[0], terms[1]);
      y = chain.step(random.below(2) == 0 ? Op::kDiv : Op::kMul, y, chain.constant(0.02 * (1 + random.below(30))));
      y = chain.step(Op::kRound, y);
      y = chain.step(Op::kAdd, y, chain.constant(random.below(200) - (is_signed ? 100 : 0)));
      y = chain.step(Op::kClamp, y, chain.constant(is_signed ? -128 : 0), chain.constant(is_signed ? 127 : 255));
      chain.step(is_signed ? Op::kToI8 : Op::kToU8, y);
      chain.fill();
      expect_same_as_portable("berth::elementwise.out", {Arg::list(inputs), chain.code, chain.constants},
                              {Array(type(2), {size})}, 0);
    }
  }
}

// The last bits of steps that are several operations, which a joined product and sum would change: as bytes of their
// own.
TEST(Elementwise, StepsBeforeBytesHaveThePortableBits) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  RandomCall random(seed.value);
  const int32_t size = 4099;
  std::vector<Arg> inputs;
  for (int k = 0; k < 3; ++k) {
    const Array x = testing::f32({size});
    for (int32_t i = 0; i < size; ++i)
      x.tensor().data<float>()[i] = static_cast<float>(random.below(80001) - 40000) * 1e-4f;
    inputs.emplace_back(x);
  }
  for (const Op op : {Op::kExp, Op::kLog, Op::kTanh, Op::kSigmoid, Op::kErf, Op::kElu, Op::kSilu, Op::kGelu,
                      Op::kGeluTanh, Op::kMulAdd, Op::kPow, Op::kSin, Op::kCos, Op::kLog1p, Op::kExpm1, Op::kMish}) {
    SCOPED_TRACE("step " + std::to_string(static_cast<int>(op)));
    QuantisedChain chain(3);
    // Whole numbers of 2^-22, less the nearest multiple of 256.
    const int64_t whole =
        chain.step(Op::kRound, chain.step(Op::kMul, chain.step(op, 0, 1, 2), chain.constant(1 << 22)));
    const int64_t multiple = chain.step(Op::kRound, chain.step(Op::kMul, whole, chain.constant(1.0 / 256)));
    const int64_t rest = chain.step(Op::kSub, whole, chain.step(Op::kMul, multiple, chain.constant(256)));
    const int64_t kept = chain.step(Op::kClamp, rest, chain.constant(-128), chain.constant(127));
    chain.step(Op::kToI8, chain.step(Op::kNanTo, kept, chain.constant(0)));
    chain.fill();
    expect_same_as_portable("berth::elementwise.out", {Arg::list(inputs), chain.code, chain.constants},
                            {Array(DType::kI8, {size})}, 0);
  }
}

// Quotients at and beside halves, where a product with the inverse would round to another number; by factors of every
// size, at the end of a chain and on the way.
TEST(Elementwise, QuotientsAreRoundedAsDivisionDoes) {
  const auto n = [](Op op) { return static_cast<int64_t>(op); };
  const Seed seed;
  SCOPED_TRACE(seed.text());
  RandomCall random(seed.value);
  std::vector<float> factors = {0.1f, 0.25f, 3e-39f, 1e-38f, 2e-30f, 1e30f, 3e38f, -0.3f, 0, -0.0f, INFINITY, NAN};
  for (int i = 0; i < 40; ++i)
    factors.push_back(std::ldexp(1 + 1e-7f * static_cast<float>(random.below(1 << 23)), random.below(20) - 12));
  for (const float factor : factors) {
    SCOPED_TRACE("factor " + std::to_string(factor));
    const int32_t size = 2053;
    const Array x = testing::f32({size});
    for (int32_t i = 0; i < size; ++i) {
      float near = (static_cast<float>(i % 600) - 300.5f) * factor;
      for (int k = random.below(4); k > 0; --k) near = std::nextafter(near, k % 2 == 0 ? -INFINITY : INFINITY);
      x.tensor().data<float>()[i] = i % 97 == 0 ? std::ldexp(near, random.below(200) - 100) : near;
    }
    x.tensor().data<float>()[7] = NAN;
    x.tensor().data<float>()[8] = -INFINITY;
    for (const double zero : {3.0, -40000.0}) {
      const std::vector<double> constants = {factor, zero, -128, 127, -5};
      const std::vector<int64_t> rounded = {n(Op::kDiv),   0, 1, 0, n(Op::kRound), 6, 0, 0, n(Op::kAdd),  7,  2, 0,
                                            n(Op::kClamp), 8, 3, 4, n(Op::kNanTo), 9, 5, 0, n(Op::kToI8), 10, 0, 0};
      expect_same_as_portable("berth::elementwise.out", {Arg::list({x}), rounded, constants},
                              {Array(DType::kI8, {size})}, 0);
      std::vector<int64_t> midway = rounded;
      midway.insert(midway.end(), {n(Op::kSub), 11, 2, 0, n(Op::kMul), 12, 0, 0});
      expect_same_as_portable("berth::elementwise.out", {Arg::list({x}), midway, constants}, {testing::f32({size})}, 0);
    }
  }
}

// Every byte of both types, through a table and beside it.
TEST(Elementwise, TablesHoldEveryByte) {
  const auto n = [](Op op) { return static_cast<int64_t>(op); };
  for (const DType type : {DType::kU8, DType::kI8}) {
    for (const int32_t size : {256, 1100, 70001}) {
      const Array x(type, {size});
      for (int32_t i = 0; i < size; ++i) x.tensor().data<uint8_t>()[i] = static_cast<uint8_t>(i * 7 + i / 256);
      // silu((x - 3) * 0.05) / 0.02 + 5
      const std::vector<int64_t> code = {n(Op::kSub),
                                         0,
                                         1,
                                         0,
                                         n(Op::kMul),
                                         7,
                                         2,
                                         0,
                                         n(Op::kSilu),
                                         8,
                                         0,
                                         0,
                                         n(Op::kDiv),
                                         9,
                                         3,
                                         0,
                                         n(Op::kRound),
                                         10,
                                         0,
                                         0,
                                         n(Op::kAdd),
                                         11,
                                         4,
                                         0,
                                         n(Op::kClamp),
                                         12,
                                         5,
                                         6,
                                         n(type == DType::kU8 ? Op::kToU8 : Op::kToI8),
                                         13,
                                         0,
                                         0};
      const std::vector<double> constants = {
          3, 0.05, 0.02, 5, type == DType::kU8 ? 0.0 : -128.0, type == DType::kU8 ? 255.0 : 127.0};
      expect_same_as_portable("berth::elementwise.out", {Arg::list({x}), code, constants}, {Array(type, {size})}, 0);
    }
  }
}

TEST(Elementwise, BytesMayTakeThePlaceOfAnInput) {
  const auto n = [](Op op) { return static_cast<int64_t>(op); };
  // relu(x * 0.5 + y), and x alone, through a table.
  const std::vector<int64_t> codes[] = {
      {n(Op::kMul),   0, 2, 0, n(Op::kAdd),  5, 1, 0, n(Op::kRound), 6, 0, 0,
       n(Op::kClamp), 7, 3, 4, n(Op::kToU8), 8, 0, 0},
      {n(Op::kMul), 0, 1, 0, n(Op::kRound), 4, 0, 0, n(Op::kClamp), 5, 2, 3, n(Op::kToU8), 6, 0, 0}};
  for (const int inputs : {2, 1}) {
    for (const int threads : {1, 3}) {
      for_each_simd_target([&](const char* target) {
        SCOPED_TRACE(target);
        const Array x(DType::kU8, {30, 4000});
        const Array y(DType::kU8, {30, 4000});
        for (int i = 0; i < 120000; ++i) {
          x.tensor().data<uint8_t>()[i] = static_cast<uint8_t>(i * 5 + i / 999);
          y.tensor().data<uint8_t>()[i] = static_cast<uint8_t>(i / 3);
        }
        const std::vector<double> a = x.values();
        const std::vector<double> b = y.values();
        std::vector<Array> list = {x};
        if (inputs == 2) list.push_back(y);
        const KernelEntry& entry = kernel_of(kernels(), "berth::elementwise.out");
        ASSERT_EQ(
            call(entry,
                 {Arg::list({list.begin(), list.end()}), codes[inputs == 2 ? 0 : 1], std::vector<double>{0.5, 0, 255}},
                 {x}, threads)
                .error,
            Error::kOk);
        const std::vector<double> found = x.values();
        for (size_t i = 0; i < found.size(); ++i) {
          const double sum = a[i] * 0.5 + (inputs == 2 ? b[i] : 0);
          ASSERT_EQ(found[i], std::min(255.0, std::nearbyint(sum))) << i;
        }
      });
    }
  }
}

TEST(Elementwise, NoElements) {
  expect_same_as_portable("aten::mul.out", {testing::f32({0, 3}), testing::f32({3})}, {testing::f32({0, 3})});
}

}  // namespace
}  // namespace berth::cpu
