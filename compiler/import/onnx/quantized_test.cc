// Operators between quantised tensors: sums of integers are exact however long they are, and results are rounded,
// shifted and held as ONNX defines it. Figures are worked out by hand, or in integers beside the test.
#include <algorithm>
#include <cmath>
#include <random>

#include "base/seeds_testing.h"
#include "compiler/import/onnx/run_testing.h"

namespace berth::onnx {
namespace {

template <typename T>
void bytes(TestModel& m, const std::string& name, const std::vector<int64_t>& dims, const std::vector<T>& numbers) {
  static_assert(sizeof(T) == 1);
  m.tensor(name, dims, std::is_signed_v<T> ? ElementType::kInt8 : ElementType::kUint8)
      .set_raw_data(numbers.data(), numbers.size());
}

eval::Item bytes_item(std::vector<int32_t> sizes, const std::vector<uint8_t>& numbers) {
  return array(DType::kU8, std::move(sizes), numbers);
}

TEST(MatMulInteger, AppliesZeroPointsOfRowsAndColumns) {
  TestModel m;
  m.input("a", {2, 3}, ElementType::kUint8);
  bytes<int8_t>(m, "b", {3, 2}, {1, -2, 3, -4, 5, -6});
  bytes<uint8_t>(m, "za", {2}, {1, 2});
  bytes<int8_t>(m, "zb", {2}, {0, 1});
  m.node("MatMulInteger", {"a", "b", "za", "zb"}, {"y"});
  m.output("y");
  const auto y = run(m, {bytes_item({2, 3}, {1, 2, 3, 255, 2, 0})});
  // rows less their zero point: 0 1 2 and 253 0 -2; columns: 1 3 5 and -3 -5 -7
  EXPECT_EQ(numbers<int32_t>(y), (std::vector<int32_t>{13, -19, 243, -745}));
}

// 255 · 255 · 1000 is 65 million: f32 holds no odd number that large.
TEST(MatMulInteger, LongSumsAreExact) {
  for (const bool known : {false, true}) {
    TestModel m;
    m.input("a", {1, 1000}, ElementType::kUint8);
    std::vector<uint8_t> ones(1000, 255);
    ones[999] = 254;
    if (known) {
      bytes<uint8_t>(m, "b", {1000, 1}, ones);
    } else {
      m.input("b", {1000, 1}, ElementType::kUint8);
    }
    m.node("MatMulInteger", {"a", "b"}, {"y"});
    m.output("y");
    std::vector<eval::Item> inputs = {bytes_item({1, 1000}, ones)};
    if (!known) inputs.push_back(bytes_item({1000, 1}, ones));
    EXPECT_EQ(numbers<int32_t>(run(m, inputs)), std::vector<int32_t>{255 * 255 * 999 + 254 * 254}) << known;
  }
}

TEST(MatMulInteger, IsOneProductWhereAKnownWeightKeepsSumsSmall) {
  TestModel m;
  m.input("a", {1, 1000}, ElementType::kUint8);
  bytes<int8_t>(m, "b", {1000, 1}, std::vector<int8_t>(1000, 3));
  m.node("MatMulInteger", {"a", "b"}, {"y"});
  m.output("y");
  const std::string text = body(m);
  EXPECT_EQ(text.find("aten::mm("), text.rfind("aten::mm(")) << text;
}

TEST(ConvInteger, PaddingIsTheZeroPoint) {
  TestModel m;
  m.input("x", {1, 1, 3, 3}, ElementType::kUint8);
  bytes<uint8_t>(m, "w", {1, 1, 2, 2}, {1, 1, 1, 1});
  bytes<uint8_t>(m, "z", {}, {1});
  m.node("ConvInteger", {"x", "w", "z"}, {"y"}).set("pads", Ints{1, 1, 1, 1});
  m.output("y");
  const auto y = run(m, {bytes_item({1, 1, 3, 3}, {2, 3, 4, 5, 6, 7, 8, 9, 10})});
  EXPECT_EQ(numbers<int32_t>(y), (std::vector<int32_t>{1, 3, 5, 3, 5, 12, 16, 9, 11, 24, 28, 15, 7, 15, 17, 9}));
}

// Random convolutions against sums in integers; weights of one sign, so that f32 would round.
TEST(ConvInteger, LongSumsAreExact) {
  const unsigned seed = testing::new_seed();
  std::mt19937 random(seed);
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  for (const int64_t groups : {1, 2}) {
    for (const bool known : {false, true}) {
      const int64_t channels = 200 / groups;
      std::vector<uint8_t> x(200 * 9);
      std::vector<uint8_t> w(2 * channels * 9);
      for (uint8_t& e : x) e = static_cast<uint8_t>(200 + random() % 56);
      for (uint8_t& e : w) e = static_cast<uint8_t>(200 + random() % 56);
      TestModel m;
      m.input("x", {1, 200, 3, 3}, ElementType::kUint8);
      if (known) {
        bytes<uint8_t>(m, "w", {2, channels, 3, 3}, w);
      } else {
        m.input("w", {2, channels, 3, 3}, ElementType::kUint8);
      }
      bytes<uint8_t>(m, "zx", {}, {3});
      m.node("ConvInteger", {"x", "w", "zx"}, {"y"}).set("group", groups);
      m.output("y");
      std::vector<eval::Item> inputs = {bytes_item({1, 200, 3, 3}, x)};
      if (!known) inputs.push_back(bytes_item({2, static_cast<int32_t>(channels), 3, 3}, w));
      std::vector<int32_t> expected(2, 0);
      for (size_t o = 0; o < 2; ++o) {
        const size_t first = groups == 1 ? 0 : o * static_cast<size_t>(channels) * 9;
        for (size_t i = 0; i < static_cast<size_t>(channels) * 9; ++i) {
          expected[o] += (x[first + i] - 3) * w[o * static_cast<size_t>(channels) * 9 + i];
        }
      }
      EXPECT_EQ(numbers<int32_t>(run(m, inputs)), expected) << groups << known;
    }
  }
}

/// A 1 × 1 QLinearConv of one channel: y = held(round((x - 2) · w · 0.5) + 10).
std::vector<uint8_t> qlinear_conv(const std::vector<uint8_t>& x, int8_t w, std::optional<int32_t> bias) {
  TestModel m;
  const int64_t size = static_cast<int64_t>(x.size());
  m.input("x", {1, 1, size}, ElementType::kUint8);
  m.floats("xs", {}, {1});
  bytes<uint8_t>(m, "xz", {}, {2});
  bytes<int8_t>(m, "w", {1, 1, 1}, {w});
  m.floats("ws", {1}, {1});
  bytes<int8_t>(m, "wz", {1}, {0});
  m.floats("ys", {}, {2});
  bytes<uint8_t>(m, "yz", {}, {10});
  std::vector<std::string> inputs = {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz"};
  if (bias.has_value()) {
    m.tensor("b", {1}, ElementType::kInt32).add_int32_data(*bias);
    inputs.emplace_back("b");
  }
  m.node("QLinearConv", inputs, {"y"});
  m.output("y");
  return numbers<uint8_t>(run(m, {bytes_item({1, 1, static_cast<int32_t>(size)}, x)}));
}

TEST(QLinearConv, RoundsHalfToEvenAndSaturates) {
  EXPECT_EQ(qlinear_conv({2, 3, 5, 7, 0, 255}, 1, {}), (std::vector<uint8_t>{10, 10, 12, 12, 9, 136}));
  EXPECT_EQ(qlinear_conv({2, 255, 0}, 3, {}), (std::vector<uint8_t>{10, 255, 7}));
  EXPECT_EQ(qlinear_conv({2, 255, 0}, -3, {}), (std::vector<uint8_t>{10, 0, 13}));
  EXPECT_EQ(qlinear_conv({2, 3, 5}, 1, 4), (std::vector<uint8_t>{12, 12, 14}));
}

TEST(QLinearMatMul, ScalesRowsAndColumns) {
  TestModel m;
  m.input("a", {2, 1}, ElementType::kUint8);
  m.floats("as", {2}, {1, 2});
  bytes<uint8_t>(m, "az", {2}, {0, 10});
  bytes<int8_t>(m, "b", {1, 2}, {2, -4});
  m.floats("bs", {2}, {1, 0.5f});
  bytes<int8_t>(m, "bz", {2}, {0, 0});
  m.floats("ys", {}, {4});
  bytes<uint8_t>(m, "yz", {}, {100});
  m.node("QLinearMatMul", {"a", "as", "az", "b", "bs", "bz", "ys", "yz"}, {"y"});
  m.output("y");
  // 5 · 2 / 4 = 2.5; 5 · -2 / 4 = -2.5; -10 · 2 · 2 / 4 = -10; -10 · 2 · -2 / 4 = 10
  EXPECT_EQ(numbers<uint8_t>(run(m, {bytes_item({2, 1}, {5, 5})})), (std::vector<uint8_t>{102, 98, 95, 105}));
}

TEST(DynamicQuantizeLinear, HasZeroInItsRange) {
  TestModel m;
  m.input("x", {3});
  m.node("DynamicQuantizeLinear", {"x"}, {"y", "s", "z"});
  for (const char* name : {"y", "s", "z"}) m.output(name);
  const auto check = [&](const Floats& x, const std::vector<uint8_t>& y, float scale, uint8_t zero) {
    const auto outputs = run(m, {floats({3}, x)});
    EXPECT_EQ(numbers<uint8_t>(outputs), y);
    EXPECT_EQ(numbers<float>(outputs, 1), Floats{scale});
    EXPECT_EQ(numbers<uint8_t>(outputs, 2), std::vector<uint8_t>{zero});
  };
  check({0, 1, 255}, {0, 1, 255}, 1, 0);
  check({100, 1, 255}, {100, 1, 255}, 1, 0);
  check({-255, -1, -100}, {0, 254, 155}, 1, 255);
  check({-51, 0, 204}, {0, 51, 255}, 1, 51);
  check({0, 0, 0}, {0, 0, 0}, 1, 0);
}

TEST(Quantized, WrongShapesAndTypesAreRefused) {
  const auto conv = [](ElementType type, const Ints& weight, const Ints& scale, int64_t groups) {
    TestModel m;
    m.input("x", {1, 2, 4}, ElementType::kUint8);
    m.input("s", {});
    m.input("z", {}, ElementType::kUint8);
    m.input("w", weight, type);
    m.input("ws", scale);
    m.input("wz", scale, type);
    m.node("QLinearConv", {"x", "s", "z", "w", "ws", "wz", "s", "z"}, {"y"}).set("group", groups);
    m.output("y");
    return failure(m);
  };
  EXPECT_EQ(conv(ElementType::kInt8, {2, 2, 3}, {2}, 1), "");
  EXPECT_CONTAINS(conv(ElementType::kFloat, {2, 2, 3}, {2}, 1), "expected 8-bit integers, found f32[2,2,3]");
  EXPECT_CONTAINS(conv(ElementType::kInt16, {2, 2, 3}, {2}, 1), "expected 8-bit integers");
  EXPECT_CONTAINS(conv(ElementType::kInt8, {2, 2}, {2}, 1), "expected one number a channel");
  EXPECT_CONTAINS(conv(ElementType::kInt8, {2, 2, 3, 3}, {2}, 1), "the same number of dimensions");
  EXPECT_CONTAINS(conv(ElementType::kInt8, {2, 2, 3}, {2, 2}, 1), "expected one number a channel");
  EXPECT_NE(conv(ElementType::kInt8, {2, 2, 3}, {3}, 1), "");
  EXPECT_CONTAINS(conv(ElementType::kInt8, {2, 2, 3}, {2}, 0), "'group' must be at least 1");
  EXPECT_NE(conv(ElementType::kInt8, {2, 2, 3}, {2}, 7), "");
  EXPECT_NE(conv(ElementType::kInt8, {0, 0, 0}, {2}, 1), "");

  const auto product = [](const Ints& a, const Ints& b, const Ints& zero) {
    TestModel m;
    m.input("a", a, ElementType::kUint8);
    m.input("b", b, ElementType::kUint8);
    m.input("z", zero, ElementType::kUint8);
    m.node("MatMulInteger", {"a", "b", "z"}, {"y"});
    m.output("y");
    return failure(m);
  };
  EXPECT_EQ(product({2, 3}, {3, 4}, {2}), "");
  EXPECT_CONTAINS(product({2, 3}, {4, 4}, {2}), "inner dimensions do not fit");
  EXPECT_NE(product({2, 3}, {3, 4}, {5}), "");
  EXPECT_NE(product({}, {3, 4}, {}), "");
  EXPECT_NE(product({2, 3}, {3, 4}, {1, 1, 1, 1}), "");
}

/// The least and the most of the range of com.microsoft's operators, and what lies between.
TEST(ContribQuantized, AddIsComputedInRealNumbers) {
  TestModel m;
  m.input("a", {3}, ElementType::kUint8);
  m.floats("s", {}, {0.5f});
  bytes<uint8_t>(m, "z", {}, {10});
  m.floats("t", {}, {0.25f});
  m.node("QLinearAdd", {"a", "s", "z", "a", "s", "z", "t", ""}, {"y"}).domain("com.microsoft");
  m.output("y");
  // (a - 10) · 0.5 twice, in quarters
  EXPECT_EQ(numbers<uint8_t>(run(m, {bytes_item({3}, {10, 14, 255})})), (std::vector<uint8_t>{0, 16, 255}));
}

// Two columns of three numbers, in blocks of two: 4 bits each, the low ones first.
TEST(ContribQuantized, FourBitWeightsAreUnpacked) {
  TestModel m;
  m.input("x", {1, 3});
  bytes<uint8_t>(m, "w", {2, 2, 1}, {0x98, 0x0A, 0x78, 0x0F});
  m.floats("s", {4}, {1, 10, 0.5f, 2});
  m.node("MatMulNBits", {"x", "w", "s"}, {"y"}).domain("com.microsoft").set("K", 3).set("N", 2).set("block_size", 2);
  m.output("y");
  // columns less 8, scaled: 0 1 20 and 0 -0.5 14
  EXPECT_EQ(numbers<float>(run(m, {floats({1, 3}, {1, 2, 3})})), (Floats{62, 41}));
}

TEST(ContribQuantized, OtherDomainsAreRefused) {
  TestModel m;
  m.input("x", {3});
  m.node("Relu", {"x"}, {"y"}).domain("com.microsoft");
  m.output("y");
  EXPECT_CONTAINS(failure(m), "operators that Berth does not have: com.microsoft.Relu");
}

}  // namespace
}  // namespace berth::onnx
