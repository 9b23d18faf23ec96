// Narrow element types in models: what ONNX's pages on Cast, QuantizeLinear and DequantizeLinear say of them. Codes are
// worked out by hand from the formats: of f8e4m3 0x7e is 448, of f8e5m2 0x7b is 57344, of f8e8m0 127 is 1.
#include <cmath>

#include "compiler/import/onnx/run_testing.h"

namespace berth::onnx {
namespace {

using Codes = std::vector<uint8_t>;
using Signed = std::vector<int8_t>;

struct CastModel {
  CastModel(ElementType to, size_t count) : model(24), node(make(to, static_cast<int64_t>(count))) {}

  std::vector<eval::Item> operator()(const Floats& x) {
    return run(model, {floats({static_cast<int32_t>(x.size())}, x)});
  }

  TestModel model;
  TestNode node;

 private:
  TestNode make(ElementType to, int64_t count) {
    model.input("x", {count});
    model.output("y");
    return model.node("Cast", {"x"}, {"y"}).set("to", static_cast<int64_t>(to));
  }
};

Codes cast(ElementType to, const Floats& x, bool saturate = true) {
  CastModel m(to, x.size());
  if (!saturate) m.node.set("saturate", 0);
  return numbers<uint8_t>(m(x));
}

Codes scales(const Floats& x, const char* mode, bool saturate) {
  CastModel m(ElementType::kFloat8E8M0, x.size());
  m.node.set("round_mode", mode).set("saturate", saturate ? 1 : 0);
  return numbers<uint8_t>(m(x));
}

TEST(Narrow, CastsSaturateUnlessTheNodeSaysOtherwise) {
  const Floats x = {1, 500, -HUGE_VALF, 1e6f, std::nanf(""), -0.0f};
  EXPECT_EQ(cast(ElementType::kFloat8E4M3Fn, x), (Codes{0x38, 0x7e, 0xfe, 0x7e, 0x7f, 0x80}));
  EXPECT_EQ(cast(ElementType::kFloat8E4M3Fn, x, false), (Codes{0x38, 0x7f, 0xff, 0x7f, 0x7f, 0x80}));
  EXPECT_EQ(cast(ElementType::kFloat8E5M2, x), (Codes{0x3c, 0x60, 0xfb, 0x7b, 0x7f, 0x80}));
  EXPECT_EQ(cast(ElementType::kFloat8E5M2, x, false), (Codes{0x3c, 0x60, 0xfc, 0x7c, 0x7f, 0x80}));
  EXPECT_EQ(cast(ElementType::kFloat8E4M3Fnuz, x), (Codes{0x40, 0x7f, 0xff, 0x7f, 0x80, 0x00}));
  EXPECT_EQ(cast(ElementType::kFloat8E4M3Fnuz, x, false), (Codes{0x40, 0x80, 0x80, 0x80, 0x80, 0x00}));
  EXPECT_EQ(cast(ElementType::kFloat8E5M2Fnuz, x), (Codes{0x40, 0x64, 0xff, 0x7f, 0x80, 0x00}));
  EXPECT_EQ(cast(ElementType::kFloat4E2M1, x), (Codes{0x02, 0x07, 0x0f, 0x07, 0x08, 0x08}));
}

TEST(Narrow, ScalesRoundAsTheNodeSays) {
  const Floats x = {1, 1.1f, 1.6f, 0.9f};
  EXPECT_EQ(scales(x, "up", true), (Codes{127, 128, 128, 127}));
  EXPECT_EQ(scales(x, "down", true), (Codes{127, 127, 127, 126}));
  EXPECT_EQ(scales(x, "nearest", true), (Codes{127, 127, 128, 127}));
  const Floats far = {0, HUGE_VALF, 2e38f, std::nanf("")};
  EXPECT_EQ(scales(far, "up", true), (Codes{0, 254, 254, 255}));
  EXPECT_EQ(scales(far, "up", false), (Codes{0, 255, 255, 255}));
  CastModel m(ElementType::kFloat8E8M0, 1);
  m.node.set("round_mode", "sideways");
  EXPECT_CONTAINS(failure(m.model), "attribute 'round_mode' must be up, down or nearest");
}

TEST(Narrow, IntegersOfFourAndTwoBitsAreTruncatedNotRounded) {
  const Floats x = {-2.7f, -1, 0.9f, 1, 2, 3};
  EXPECT_EQ(numbers<int8_t>(CastModel(ElementType::kInt4, 6)(x)), (Signed{-2, -1, 0, 1, 2, 3}));
  EXPECT_EQ(numbers<int8_t>(CastModel(ElementType::kInt2, 6)(x)), (Signed{-2, -1, 0, 1, -2, -1}));
  EXPECT_EQ(cast(ElementType::kUint2, x), (Codes{2, 3, 0, 1, 2, 3}));
}

TEST(Narrow, CastLikeTakesTheTypeOfATensorThatIsOnlyDeclared) {
  TestModel m(24);
  m.input("x", {2});
  m.input("like", {1}, ElementType::kInt4);
  m.node("CastLike", {"x", "like"}, {"y"});
  m.node("Cast", {"y"}, {"z"}).set("to", static_cast<int64_t>(ElementType::kFloat));
  m.output("z");
  EXPECT_EQ(numbers<float>(run(m, {floats({2}, {7, 9}), array(DType::kI4, {1}, Codes{0})})), (Floats{7, -7}));
}

// Along the last axis, one scale each: -1000 is beyond every type.
std::vector<eval::Item> quantized(ElementType type, const Floats& x) {
  TestModel m(23);
  m.input("x", {1, static_cast<int64_t>(x.size())});
  m.floats("scale", {}, {2});
  m.tensor("zero", {}, type).set_raw_data(std::string(1, '\0'));
  m.node("QuantizeLinear", {"x", "scale", "zero"}, {"y"});
  m.output("y");
  return run(m, {floats({1, static_cast<int32_t>(x.size())}, x)});
}

TEST(Narrow, QuantizedNumbersSaturate) {
  const Floats x = {-1000, -3, 1, 2, 1000};
  EXPECT_EQ(numbers<int8_t>(quantized(ElementType::kInt4, x)), (Signed{-8, -2, 0, 1, 7}));
  EXPECT_EQ(numbers<uint8_t>(quantized(ElementType::kUint4, x)), (Codes{0, 0, 0, 1, 15}));
  EXPECT_EQ(numbers<int8_t>(quantized(ElementType::kInt2, x)), (Signed{-2, -2, 0, 1, 1}));
  EXPECT_EQ(numbers<uint8_t>(quantized(ElementType::kUint2, x)), (Codes{0, 0, 0, 1, 3}));
  EXPECT_EQ(numbers<uint8_t>(quantized(ElementType::kFloat8E4M3Fn, x)), (Codes{0xfe, 0xbc, 0x30, 0x38, 0x7e}));
  EXPECT_EQ(numbers<uint8_t>(quantized(ElementType::kFloat4E2M1, x)), (Codes{0x0f, 0x0b, 0x01, 0x02, 0x07}));
}

// In f16 3.4999 is 3.5 and 2.5001 is 2.5: halves, which go to the even number.
TEST(Narrow, QuotientsAreOfTheTypeThatTheNodeNames) {
  const auto quotient = [](int64_t precision) {
    TestModel m(23);
    m.input("x", {2});
    m.floats("scale", {}, {1});
    m.tensor("zero", {}, ElementType::kInt8).set_raw_data(std::string(1, '\0'));
    TestNode node = m.node("QuantizeLinear", {"x", "scale", "zero"}, {"y"});
    if (precision != 0) node.set("precision", precision);
    m.output("y");
    return numbers<int8_t>(run(m, {floats({2}, {3.4999f, 2.5001f})}));
  };
  EXPECT_EQ(quotient(0), (Signed{3, 3}));
  EXPECT_EQ(quotient(static_cast<int64_t>(ElementType::kDouble)), (Signed{3, 3}));
  EXPECT_EQ(quotient(static_cast<int64_t>(ElementType::kFloat16)), (Signed{4, 2}));
}

// Microscaling: elements of 4 bits, one power of two for each block of two.
TEST(Narrow, BlocksAreScaledByPowersOfTwo) {
  TestModel m(24);
  m.input("x", {1, 4}, ElementType::kFloat4E2M1);
  m.tensor("scale", {1, 2}, ElementType::kFloat8E8M0).set_raw_data(std::string("\x80\x7e", 2));
  m.node("DequantizeLinear", {"x", "scale"}, {"y"}).set("axis", 1).set("block_size", 2);
  m.output("y");
  const auto y = run(m, {array(DType::kF4E2M1, {1, 4}, Codes{0x02, 0x0f, 0x02, 0x01})});
  EXPECT_EQ(numbers<float>(y), (Floats{2, -12, 0.5f, 0.25f}));
}

TEST(Narrow, ConstantOfShapeRepeatsElementsOfEveryType) {
  const auto repeated = [](ElementType type, const std::string& element) {
    TestModel m(24);
    m.ints("shape", {2, 2});
    proto::Attribute& value = m.node("ConstantOfShape", {"shape"}, {"y"}).add("value", AttributeType::kTensor);
    TestModel::fill(value.mutable_t(), "one", {1}, type).set_raw_data(element);
    m.output("y");
    return run(m, {});
  };
  EXPECT_EQ(numbers<uint8_t>(repeated(ElementType::kFloat8E5M2, "\x3c")), Codes(4, 0x3c));
  EXPECT_EQ(numbers<int8_t>(repeated(ElementType::kInt4, "\x0f")), Signed(4, -1));
  EXPECT_EQ(numbers<uint64_t>(repeated(ElementType::kUint64, std::string(8, '\xff'))),
            std::vector<uint64_t>(4, UINT64_MAX));
}

TEST(Narrow, FloatsOfSixBitsAreRefusedByName) {
  TestModel m(24);
  m.input("x", {2}, ElementType::kFloat);
  m.node("Cast", {"x"}, {"y"}).set("to", int64_t{27});
  m.output("y");
  EXPECT_CONTAINS(failure(m), "to FLOAT6E2M3 is not supported");
}

}  // namespace
}  // namespace berth::onnx
